-- Invalid attention maps: rows that stand twice or are missing, layers, heads and positions that the run does not have,
-- and weights that are not numbers.
with candidates_of_sequence as (
    select sequence, count(*) as candidates
    from position
    where kind in ('word', 'token')
    group by all
),

input as (
    select
        sequence.id as sequence,
        sequence.positions,
        coalesce(candidates_of_sequence.candidates, 0) as candidates,
        coalesce(list_min(model.layer_numbers), 1) as first_layer,
        coalesce(list_max(model.layer_numbers), model.layers) as last_layer,
        coalesce(run.heads, model.heads) as heads,
        model.layers * coalesce(run.heads, model.heads) as maps,
        run.keep,
        coalesce(run.gradients, false) as has_gradients
    from sequence
    inner join run on run.id = sequence.run
    inner join model on model.id = run.model
    left join candidates_of_sequence on candidates_of_sequence.sequence = sequence.id
),

-- Of each row the first and the last position that it names, the least and the largest length of its lists that have an
-- element for each position, and a total, which is finite only if all its terms are.
map_row as (
    select
        'attention' as name, sequence, layer, head, from_position as position, from_position as first_position,
        from_position as last_position, len(weights) as least_length, len(weights) as largest_length,
        false as is_uneven, coalesce(list_sum(weights), cast('nan' as double)) as total
    from attention
    union all
    select
        'gradient', sequence, layer, head, from_position, from_position, from_position, len(gradients), len(gradients),
        false, coalesce(list_sum(gradients), cast('nan' as double))
    from gradient
    union all
    select
        'attention_top', sequence, layer, head, from_position, least(from_position, list_min(to_positions)),
        greatest(from_position, list_max(to_positions)), null, null, len(weights) <> len(to_positions),
        list_sum(weights) + rest
    from attention_top
    union all
    select
        'attention_map', sequence, layer, head, 0, list_min(largest_positions), list_max(largest_positions),
        least(len(received), len(given), len(largest_positions), len(largest_weights)),
        greatest(len(received), len(given), len(largest_positions), len(largest_weights)), len(offsets) <> 21,
        to_cls + to_sep + to_punctuation + to_other + sep_to_sep + word_to_word + same_segment + word_before
        + word_itself + word_after + entropy + coalesce(entropy_from_cls, 0) + list_sum(offsets) + list_sum(received)
        + list_sum(given) + coalesce(list_sum(largest_weights), 0)
    from attention_map
    union all
    select
        'peak', sequence, layer, head, position, least(position, most_attended, most_attending),
        greatest(position, most_attended, most_attending), null, null, false,
        coalesce(cast(most_attended_weight as double), 0) + coalesce(most_attending_weight, 0)
    from peak
),

-- Of each map of an input the rows in each table.
rows_of_map as (
    select
        name, sequence, layer, head, count(*) as rows, count(distinct position) as places,
        min(first_position) as first_position, max(last_position) as last_position,
        min(least_length) as least_length, max(largest_length) as largest_length, bool_or(is_uneven) as is_uneven,
        bool_and(isfinite(total)) as is_finite
    from map_row
    group by all
),

maps_of_input as (
    select name, sequence, count(*) as maps
    from rows_of_map
    group by all
),

expected_maps as (
    select 'attention_map' as name, sequence, maps from input
    union all
    select 'peak', sequence, maps from input where candidates > 0
    union all
    select 'attention', sequence, maps from input where keep = 'weights'
    union all
    select 'attention_top', sequence, maps from input where starts_with(keep, 'top:')
    union all
    select 'gradient', sequence, maps from input where has_gradients
)

select 'its table ' || rows_of_map.name || ' has rows that no map has' as reason
from rows_of_map
inner join input using (sequence)
where
    rows_of_map.layer not between input.first_layer and input.last_layer
    or rows_of_map.head not between 1 and input.heads
    or rows_of_map.first_position < 0 or rows_of_map.last_position >= input.positions
    or rows_of_map.least_length <> input.positions or rows_of_map.largest_length <> input.positions
    or rows_of_map.is_uneven or not rows_of_map.is_finite
union all
select 'its table ' || rows_of_map.name || ' has rows twice'
from rows_of_map
where rows_of_map.rows <> rows_of_map.places
union all
select 'its table ' || rows_of_map.name || ' lacks rows of maps'
from rows_of_map
inner join input using (sequence)
where rows_of_map.rows <> case rows_of_map.name
        when 'attention_map' then 1
        when 'peak' then input.candidates
        else input.positions
    end
union all
select 'its table ' || expected_maps.name || ' lacks the maps of the input ' || expected_maps.sequence
from expected_maps
left join maps_of_input using (name, sequence)
where coalesce(maps_of_input.maps, 0) <> expected_maps.maps
limit 1
