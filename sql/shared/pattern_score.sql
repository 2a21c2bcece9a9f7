-- title: How much each head of some runs attends to the positions of a token pattern
-- grain: one row per (run, layer, head)
-- note: the patterns are those of TransformerLens' detect_head: at position i, previous_token is i - 1; duplicate_token
--   the earlier positions j < i with the same token; induction the positions j + 1 after these.
-- param runs, pattern, exclude_bos, exclude_current_token
-- column run integer: run.id of the run
-- column layer, head, score
-- column low double: lower end of the 95 % interval of score; null, like high, if all inputs are in one document
-- column high double: upper end of the 95 % interval of score
-- column chance double: score of uniform attention over the positions that each can see
-- column weight double: mean attention to the targets of the positions that have any; null if none has
-- column weight_low, weight_high, weight_chance
-- column n bigint: positions that have a target
-- column sequences
with input as materialized (
    select
        sequence.id as sequence,
        sequence.run, sequence.positions, causality.is_causal,
        input_cluster(clustered_document.by_sentences, sequence.id, sequence.document) as cluster,
        harmonic(sequence.positions) as harmonic
    from sequence
    inner join run_causality() as causality using (run)
    inner join corpus_document(runs := $runs) as clustered_document using (run, document)
),

placed_token as (
    select position.sequence, cast(position.position as integer) as place, position.pieces
    from position
    inner join input using (sequence)
),

-- List indexes count from 1, so that index j + 1 is position j.
pattern_target as (
    select sequence, place, place as list_index
    from placed_token
    where $pattern = 'previous_token'
        and place > 0
    union all
    select token.sequence, token.place, earlier.place + case when $pattern = 'induction' then 2 else 1 end as list_index
    from placed_token as token
    inner join placed_token as earlier
        on earlier.sequence = token.sequence
        and earlier.pieces = token.pieces
        and earlier.place < token.place
    where $pattern <> 'previous_token'
),

-- Materialized, so that the lists are made once and not for every row of attention that they are joined to.
pattern_row as materialized (
    select sequence, cast(place as smallint) as from_position, list_sort(list(list_index)) as list_indexes
    from pattern_target
    where not ($exclude_bos and list_index = 1)
        and not ($exclude_current_token and list_index = place + 1)
    group by sequence, place
),

-- What even attention gives, of a position to each that it sees.
even_sum as (
    select
        pattern_row.sequence,
        count(*) as n,
        sum(
            cast(place_count(pattern_row.list_indexes) as double)
            / case when input.is_causal then pattern_row.from_position + 1 else input.positions end
        ) as on_pattern
    from pattern_row
    inner join input using (sequence)
    group by all
),

input_chance as materialized (
    select
        input.*,
        coalesce(even_sum.n, 0) as n,
        coalesce(even_sum.on_pattern, cast(0 as double)) as even_on_pattern,
        input.positions
        - case when $exclude_bos and input.is_causal then input.harmonic when $exclude_bos then 1 else 0 end
        - case
            when $exclude_current_token and input.is_causal then input.harmonic
            when $exclude_current_token then 1
            else 0
        end
        + case
            when $exclude_bos and $exclude_current_token
                then cast(1 as double) / case when input.is_causal then 1 else input.positions end
            else 0
        end as even_total
    from input
    left join even_sum using (sequence)
),

-- What is kept with each map is most of what the three need: the weights at an offset, and those to each position.
partial_sum as (
    select
        distribution.sequence, distribution.layer, distribution.head,
        weight_on(distribution.weights, pattern_row.list_indexes) as on_pattern,
        cast(0 as double) as total
    from distribution
    inner join pattern_row using (sequence, from_position)
    where $pattern <> 'previous_token'
    union all
    select
        attention_map.sequence, attention_map.layer, attention_map.head,
        case
            when $pattern = 'previous_token' then weight_at_offset(attention_map.offsets, -1)
            else cast(0 as double)
        end as on_pattern,
        weight_total(attention_map.received)
        - case when $exclude_bos then weight_at(attention_map.received, 0) else cast(0 as double) end
        - case
            when $exclude_current_token then weight_at_offset(attention_map.offsets, 0)
            else cast(0 as double)
        end as total
    from attention_map
    inner join input using (sequence)
    union all
    -- The weight from the second position to the first is at the offset too, and that of the first to itself was taken
    -- off twice.
    select
        distribution.sequence, distribution.layer, distribution.head,
        case when distribution.from_position = 1 then -weight_at(distribution.weights, 0) else cast(0 as double) end
            as on_pattern,
        case when distribution.from_position = 0 then weight_at(distribution.weights, 0) else cast(0 as double) end
            as total
    from distribution
    inner join input using (sequence)
    where $exclude_bos
        and (
            (distribution.from_position = 1 and $pattern = 'previous_token')
            or (distribution.from_position = 0 and $exclude_current_token)
        )
),

per_sequence as (
    select sequence, layer, head, sum(on_pattern) as on_pattern, sum(total) as total
    from partial_sum
    group by all
),

-- An input whose attention is all left out (a single position) has no score.
per_cluster as (
    select
        input_chance.run, input_chance.cluster, per_sequence.layer, per_sequence.head,
        sum(per_sequence.on_pattern / per_sequence.total) as score,
        sum(input_chance.even_on_pattern / input_chance.even_total) as even_score,
        cast(count(*) as double) as sequences,
        sum(per_sequence.on_pattern) as weight,
        sum(input_chance.even_on_pattern) as even_weight,
        cast(sum(input_chance.n) as double) as n
    from per_sequence
    inner join input_chance using (sequence)
    where per_sequence.total > 0
        and input_chance.even_total > 0
    group by all
),

per_head as (
    select
        run, layer, head,
        sum(score) / sum(sequences) as score,
        clustered_margin(score, sequences) as margin,
        sum(even_score) / sum(sequences) as chance,
        sum(weight) / nullif(sum(n), 0) as weight,
        clustered_margin(weight, n) as weight_margin,
        sum(even_weight) / nullif(sum(n), 0) as weight_chance,
        cast(sum(n) as bigint) as n,
        cast(sum(sequences) as bigint) as sequences
    from per_cluster
    group by all
)

select
    run, layer, head, score,
    within_share(score - margin) as low,
    within_share(score + margin) as high,
    chance, weight,
    within_share(weight - weight_margin) as weight_low,
    within_share(weight + weight_margin) as weight_high,
    weight_chance, n, sequences
from per_head
