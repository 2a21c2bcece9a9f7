-- The attention maps of some heads (3-1) over one input, with null for what is not kept, and the sum of that; of a run that
-- keeps its peaks, these alone, and no sum.
with

peak_weight as (
    select peak.layer, peak.head, peak.position as from_position, peak.most_attended as to_position,
        peak.most_attended_weight as weight
    from peak
    where peak.sequence = $sequence
        and concat(cast(peak.layer as varchar), '-', cast(peak.head as varchar)) in (select unnest($heads))
    union
    select peak.layer, peak.head, peak.most_attending as from_position, peak.position as to_position,
        peak.most_attending_weight as weight
    from peak
    where peak.sequence = $sequence
        and concat(cast(peak.layer as varchar), '-', cast(peak.head as varchar)) in (select unnest($heads))
),

shown_head as (
    select distinct peak_weight.layer, peak_weight.head
    from peak_weight
),

peak_map as (
    select
        shown_head.layer,
        shown_head.head,
        position.position as from_position,
        weights_by_position(
            list(peak_weight.to_position order by peak_weight.to_position),
            list(peak_weight.weight order by peak_weight.to_position),
            cast(null as float),
            any_value(sequence.positions)
        ) as weights
    from position
    inner join sequence on sequence.id = position.sequence
    inner join run on run.id = sequence.run
    cross join shown_head
    left join peak_weight
        on peak_weight.layer = shown_head.layer
        and peak_weight.head = shown_head.head
        and peak_weight.from_position = position.position
        and peak_weight.to_position is not null
    where position.sequence = $sequence and run.keep = 'peaks'
    group by shown_head.layer, shown_head.head, position.position
)

select distribution.layer, distribution.head, distribution.from_position, distribution.weights, distribution.rest
from distribution
where distribution.sequence = $sequence
    and concat(cast(distribution.layer as varchar), '-', cast(distribution.head as varchar)) in (select unnest($heads))
union all
select peak_map.layer, peak_map.head, peak_map.from_position, peak_map.weights, null as rest
from peak_map
order by layer, head, from_position
