-- Invalid attention maps: layers, heads and positions that the run does not have, and weights that are not numbers.
with input as (
    select
        sequence.id, sequence.positions,
        coalesce(list_min(model.layer_numbers), 1) as first_layer,
        coalesce(list_max(model.layer_numbers), model.layers) as last_layer,
        coalesce(run.heads, model.heads) as heads
    from sequence
    inner join run on run.id = sequence.run
    inner join model on model.id = run.model
)

-- A sum is finite only if all its terms are.
select 'its table attention has rows that no map has' as reason
from attention
inner join input on input.id = attention.sequence
where
    attention.layer not between input.first_layer and input.last_layer or attention.head not between 1 and input.heads
    or attention.from_position not between 0 and input.positions - 1
    or len(attention.weights) <> input.positions or not coalesce(isfinite(list_sum(attention.weights)), false)
union all
select 'its table gradient has rows that no map has'
from gradient
inner join input on input.id = gradient.sequence
where
    gradient.layer not between input.first_layer and input.last_layer or gradient.head not between 1 and input.heads
    or gradient.from_position not between 0 and input.positions - 1
    or len(gradient.gradients) <> input.positions or not coalesce(isfinite(list_sum(gradient.gradients)), false)
union all
select 'its table attention_top has rows that no map has'
from attention_top
inner join input on input.id = attention_top.sequence
where
    attention_top.layer not between input.first_layer and input.last_layer
    or attention_top.head not between 1 and input.heads
    or attention_top.from_position not between 0 and input.positions - 1
    or len(attention_top.weights) <> len(attention_top.to_positions)
    or list_min(attention_top.to_positions) < 0 or list_max(attention_top.to_positions) >= input.positions
    or not isfinite(attention_top.rest) or not isfinite(list_sum(attention_top.weights))
union all
select 'its table attention_map has rows that no map has'
from attention_map
inner join input on input.id = attention_map.sequence
where
    attention_map.layer not between input.first_layer and input.last_layer
    or attention_map.head not between 1 and input.heads
    or len(attention_map.received) <> input.positions or len(attention_map.given) <> input.positions
    or len(attention_map.largest_positions) <> input.positions
    or len(attention_map.largest_weights) <> input.positions
    or list_min(attention_map.largest_positions) < 0
    or list_max(attention_map.largest_positions) >= input.positions
    or len(attention_map.offsets) <> 21
    or not isfinite(
        attention_map.to_cls + attention_map.to_sep + attention_map.to_punctuation + attention_map.to_other
        + attention_map.sep_to_sep + attention_map.word_to_word + attention_map.same_segment
        + attention_map.word_before + attention_map.word_itself + attention_map.word_after + attention_map.entropy
        + coalesce(attention_map.entropy_from_cls, 0) + list_sum(attention_map.offsets)
        + list_sum(attention_map.received) + list_sum(attention_map.given)
        + coalesce(list_sum(attention_map.largest_weights), 0)
    )
union all
select 'its table peak has rows that no map has'
from peak
inner join input on input.id = peak.sequence
where
    peak.layer not between input.first_layer and input.last_layer or peak.head not between 1 and input.heads
    or peak.position not between 0 and input.positions - 1
    or peak.most_attended not between 0 and input.positions - 1
    or peak.most_attending not between 0 and input.positions - 1
    or not isfinite(peak.most_attended_weight) or not isfinite(peak.most_attending_weight)
limit 1
