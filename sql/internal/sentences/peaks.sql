-- The position that each word of an input attends to most, and the one that attends to it most, by some heads (3-1); they
-- were found while ingesting (ingest/attention/merged_maps.py).
select layer, head, position, most_attended, most_attended_weight, most_attending, most_attending_weight
from peak
where sequence = $sequence
    and list_contains($heads, concat(layer, '-', head))
order by layer, head, position
