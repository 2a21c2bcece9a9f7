-- title: The position that each position of a run attends to most, by head, where both are not [SEP]
-- grain: one row per (sequence, layer, head, from_position)
-- note: ties go to the leftmost. An input of nothing but [SEP] has no row.
-- param run integer = null: run.id of the run
-- column sequence, layer, head
-- column from_position smallint: position that attends
-- column to_position smallint: position that it attends to most
-- column weight float: that weight
with map_position as (
    select
        attention_map.sequence, attention_map.layer, attention_map.head, attention_map.largest_positions,
        attention_map.largest_weights,
        unnest(range(1, cast(len(attention_map.largest_positions) as integer) + 1)) as list_index
    from attention_map
    inner join sequence on sequence.id = attention_map.sequence
    where sequence.run = $run
)

select
    sequence, layer, head,
    cast(list_index - 1 as smallint) as from_position,
    cast(list_extract(largest_positions, list_index) as smallint) as to_position,
    list_extract(largest_weights, list_index) as weight
from map_position
where list_extract(largest_positions, list_index) is not null
