-- The rows of table attention_map, computed from those of table attention. An ingest computes the same while the weights
-- are in memory.
with

input as materialized (
    select
        placement.sequence,
        placement.positions,
        placement.cls,
        placement.sep,
        placement.punctuation,
        mask_without(
            list_concat(placement.cls, placement.first_word),
            placement.sep,
            placement.punctuation,
            placement.positions
        ) as other,
        mask_of(placement.words, placement.positions) as words,
        mask_of(placement.first_segment, placement.positions) as first_segment,
        mask_of(placement.second_segment, placement.positions) as second_segment,
        list_filter(
            range(1, placement.positions + 1),
            lambda place: not coalesce(list_contains(placement.sep, cast(place as integer)), false)
        ) as targets
    from placement
),

distribution as (
    select
        attention.sequence,
        attention.layer,
        attention.head,
        attention.from_position,
        attention.weights,
        is_place_in(attention.from_position, input.cls) as is_from_cls,
        is_place_in(attention.from_position, input.sep) as is_from_sep,
        weight_at(input.words, attention.from_position) as is_from_word,
        weight_at(input.first_segment, attention.from_position) as is_from_first,
        weight_at(input.second_segment, attention.from_position) as is_from_second,
        weight_on(attention.weights, input.cls) as to_cls,
        weight_on(attention.weights, input.sep) as to_sep,
        weight_on(attention.weights, input.punctuation) as to_punctuation,
        weight_under(attention.weights, input.other) as to_other,
        weight_under(attention.weights, input.words) as to_words,
        weight_under(attention.weights, input.first_segment) as to_first,
        weight_under(attention.weights, input.second_segment) as to_second,
        coalesce(
            weight_at(attention.weights, attention.from_position - 1)
            * weight_at(input.words, attention.from_position - 1),
            cast(0 as double)
        ) as word_before,
        weight_at(attention.weights, attention.from_position)
        * weight_at(input.words, attention.from_position) as word_itself,
        coalesce(
            weight_at(attention.weights, attention.from_position + 1)
            * weight_at(input.words, attention.from_position + 1),
            cast(0 as double)
        ) as word_after,
        -- 0 ln 0 = 0: what is added is lost in every share that a float holds, and keeps ln 0 finite.
        -list_inner_product(
            cast(attention.weights as double[]),
            list_transform(attention.weights, lambda weight: ln(cast(weight as double) + cast(1e-300 as double)))
        ) as entropy,
        case
            when not is_place_in(attention.from_position, input.sep)
                then cast(first_largest_on(attention.weights, input.targets) - 1 as smallint)
        end as largest_position,
        case
            when not is_place_in(attention.from_position, input.sep)
                then cast(largest_on(attention.weights, input.targets) as float)
        end as largest_weight
    from attention
    inner join input on input.sequence = attention.sequence
),

map_sum as (
    select
        distribution.sequence,
        distribution.layer,
        distribution.head,
        sum(distribution.to_cls) as to_cls,
        sum(distribution.to_sep) as to_sep,
        sum(distribution.to_punctuation) as to_punctuation,
        sum(distribution.to_other) as to_other,
        sum(case when distribution.is_from_sep then distribution.to_sep else cast(0 as double) end) as sep_to_sep,
        sum(distribution.is_from_word * distribution.to_words) as word_to_word,
        sum(
            distribution.is_from_first * distribution.to_first
            + distribution.is_from_second * distribution.to_second
        ) as same_segment,
        sum(distribution.word_before) as word_before,
        sum(distribution.word_itself) as word_itself,
        sum(distribution.word_after) as word_after,
        avg(distribution.entropy) as entropy,
        avg(case when distribution.is_from_cls then distribution.entropy end) as entropy_from_cls,
        list(distribution.to_words - distribution.word_itself order by distribution.from_position) as given,
        list(distribution.largest_position order by distribution.from_position) as largest_positions,
        list(distribution.largest_weight order by distribution.from_position) as largest_weights
    from distribution
    group by distribution.sequence, distribution.layer, distribution.head
),

placed as (
    select
        attention.sequence,
        attention.layer,
        attention.head,
        attention.from_position,
        attention.weights,
        unnest(range(0, len(attention.weights))) as to_position
    from attention
),

received_weight as (
    select
        placed.sequence,
        placed.layer,
        placed.head,
        placed.to_position,
        sum(weight_at(placed.weights, placed.to_position)) as received
    from placed
    group by placed.sequence, placed.layer, placed.head, placed.to_position
),

received_list as (
    select
        received_weight.sequence,
        received_weight.layer,
        received_weight.head,
        list(received_weight.received order by received_weight.to_position) as received
    from received_weight
    group by received_weight.sequence, received_weight.layer, received_weight.head
),

shifted as (
    select
        attention.sequence,
        attention.layer,
        attention.head,
        attention.from_position,
        attention.weights,
        unnest(range(-10, 11)) as distance
    from attention
),

offset_weight as (
    select
        shifted.sequence,
        shifted.layer,
        shifted.head,
        shifted.distance,
        sum(coalesce(weight_at(shifted.weights, shifted.from_position + shifted.distance), cast(0 as double)))
            as weight
    from shifted
    group by shifted.sequence, shifted.layer, shifted.head, shifted.distance
),

offset_list as (
    select
        offset_weight.sequence,
        offset_weight.layer,
        offset_weight.head,
        list(offset_weight.weight order by offset_weight.distance) as offsets
    from offset_weight
    group by offset_weight.sequence, offset_weight.layer, offset_weight.head
)

select
    map_sum.sequence,
    map_sum.layer,
    map_sum.head,
    map_sum.to_cls,
    map_sum.to_sep,
    map_sum.to_punctuation,
    map_sum.to_other,
    map_sum.sep_to_sep,
    map_sum.word_to_word,
    map_sum.same_segment,
    map_sum.word_before,
    map_sum.word_itself,
    map_sum.word_after,
    map_sum.entropy,
    map_sum.entropy_from_cls,
    offset_list.offsets,
    received_list.received,
    map_sum.given,
    map_sum.largest_positions,
    map_sum.largest_weights
from map_sum
inner join offset_list
    on offset_list.sequence = map_sum.sequence
    and offset_list.layer = map_sum.layer
    and offset_list.head = map_sum.head
inner join received_list
    on received_list.sequence = map_sum.sequence
    and received_list.layer = map_sum.layer
    and received_list.head = map_sum.head
order by map_sum.sequence, map_sum.layer, map_sum.head
