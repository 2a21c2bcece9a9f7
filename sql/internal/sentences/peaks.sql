-- What some heads (3-1) look at most over one input, and what looks at each word most.
select
    peak.layer,
    peak.head,
    peak.position,
    peak.most_attended,
    peak.most_attended_weight,
    peak.most_attending,
    peak.most_attending_weight
from peak
where peak.sequence = $sequence
    and concat(cast(peak.layer as varchar), '-', cast(peak.head as varchar)) in (select unnest($heads))
order by peak.layer, peak.head, peak.position
