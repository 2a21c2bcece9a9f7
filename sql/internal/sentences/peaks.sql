-- The position that each word of an input attends to most, and the one that attends to it most, by some heads (3-1); they
-- were found while ingesting (ingest/attention/merged_maps.py). A join, since a page that reads the bank by ranges then
-- reads the rows of these heads only: with list_contains it reads four times as much.
with wanted_head as (
    select cast(split_part(text, '-', 1) as smallint) as layer, cast(split_part(text, '-', 2) as smallint) as head
    from (select unnest($heads) as text) as name
)

select layer, head, position, most_attended, most_attended_weight, most_attending, most_attending_weight
from peak
inner join wanted_head using (layer, head)
where sequence = $sequence
order by layer, head, position
