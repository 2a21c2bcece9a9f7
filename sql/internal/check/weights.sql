-- Invalid attention maps: layers, heads and positions that the run does not have, and weights that are not numbers.
with input as (
    select
        sequence.id as sequence,
        sequence.positions,
        coalesce(list_min(model.layer_numbers), 1) as first_layer,
        coalesce(list_max(model.layer_numbers), model.layers) as last_layer,
        coalesce(run.heads, model.heads) as heads
    from sequence
    inner join run on run.id = sequence.run
    inner join model on model.id = run.model
),

-- Of each row the first and the last position that it names, the least and the largest length of its lists that have an
-- element for each position, and a total, which is finite only if all its terms are.
map_row as (
    select
        'attention' as name, sequence, layer, head, from_position as first_position, from_position as last_position,
        len(weights) as least_length, len(weights) as largest_length, false as is_uneven,
        coalesce(list_sum(weights), cast('nan' as double)) as total
    from attention
    union all
    select
        'gradient', sequence, layer, head, from_position, from_position, len(gradients), len(gradients), false,
        coalesce(list_sum(gradients), cast('nan' as double))
    from gradient
    union all
    select
        'attention_top', sequence, layer, head, least(from_position, list_min(to_positions)),
        greatest(from_position, list_max(to_positions)), null, null, len(weights) <> len(to_positions),
        list_sum(weights) + rest
    from attention_top
    union all
    select
        'attention_map', sequence, layer, head, list_min(largest_positions), list_max(largest_positions),
        least(len(received), len(given), len(largest_positions), len(largest_weights)),
        greatest(len(received), len(given), len(largest_positions), len(largest_weights)), len(offsets) <> 21,
        to_cls + to_sep + to_punctuation + to_other + sep_to_sep + word_to_word + same_segment + word_before
        + word_itself + word_after + entropy + coalesce(entropy_from_cls, 0) + list_sum(offsets) + list_sum(received)
        + list_sum(given) + coalesce(list_sum(largest_weights), 0)
    from attention_map
    union all
    select
        'peak', sequence, layer, head, least(position, most_attended, most_attending),
        greatest(position, most_attended, most_attending), null, null, false,
        coalesce(cast(most_attended_weight as double), 0) + coalesce(most_attending_weight, 0)
    from peak
)

select 'its table ' || map_row.name || ' has rows that no map has' as reason
from map_row
inner join input using (sequence)
where
    map_row.layer not between input.first_layer and input.last_layer or map_row.head not between 1 and input.heads
    or map_row.first_position < 0 or map_row.last_position >= input.positions
    or map_row.least_length <> input.positions or map_row.largest_length <> input.positions
    or map_row.is_uneven or not isfinite(map_row.total)
limit 1
