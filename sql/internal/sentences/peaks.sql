-- The position that each word of an input attends to most, and the one that attends to it most, by some heads (3-1); they
-- were found while ingesting (ingest/attention/merged_maps.py).
with

wanted_head as (
    select cast(split_part(text, '-', 1) as smallint) as layer, cast(split_part(text, '-', 2) as smallint) as head
    from (select unnest($heads) as text) as name
)

select
    peak.layer, peak.head, peak.position, peak.most_attended, peak.most_attended_weight, peak.most_attending,
    peak.most_attending_weight
from peak
inner join wanted_head on wanted_head.layer = peak.layer and wanted_head.head = peak.head
where peak.sequence = $sequence
order by peak.layer, peak.head, peak.position
