-- title: The relation that each head finds best, by its gain over the best fixed offset
-- paper: Clark et al. 2019, section 4.2: table 1 the other way round, by head
-- grain: one row per head, or per (layer, head, rank) with most
-- formula: gain(h, v, r) = accuracy(h, v, r) − max_k offset_accuracy(k, r), as in best_head, for head h, direction v
-- formula: relation*(h) = argmax_{r, v} gain(h, v, r), of relations with min_count dependents or more
-- formula: low, high as in best_head
-- formula: p_value as in head_score; p_corrected as there, where the largest statistic is of all heads, directions and
--   relations with 10 dependents or more, whichever of them are shown (tried: how many these are)
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=gain text=relation significant=p_corrected
-- empty: no relation has min_count dependents (--min-count 1 shows them all)
-- note: a gain of 0 or less: no relation is found better than by a fixed offset.
-- note: of many relations and two directions some are above their offset by chance: the picture names the relation only
--   where p_corrected is below 0.05. For rare relations (--min-count 10) the best head is often best by chance.
-- param most integer = 1: number of relations per head, the best first
-- param min_count integer = 100: leave out relations with fewer dependents (published code: 100)
-- param run, subtypes, possessive, offsets, clamped
-- column layer, head
-- column rank bigint: 1 for the relation that is found best; of equal gains the first by name
-- column relation, direction, n, accuracy, low, high, offset, offset_accuracy, gain, p_value, p_corrected
-- column tried bigint: heads, directions and relations that were tried, for which p_corrected is corrected
-- column findable, run
with gold as (
    select dependency.*
    from gold_pair(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive
    ) as dependency
    where not is_root
),

relation_size as (
    select relation, count(*) as n
    from gold
    group by all
),

baseline as (
    select relation, side, "offset", accuracy, correct, n
    from best_offset(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        offsets := $offsets, clamped := $clamped
    ) as best
),

-- Each dependent in each direction that is scored on it, and whether the best offset finds its head.
directed_dependent as (
    select
        gold.sequence, gold.position, gold.head_position, gold.relation, gold.side, gold.cluster,
        scored_direction.direction,
        judged_side(scored_direction.direction, gold.side) as scored_side,
        case
            when is_offset_hit(
                baseline."offset", baseline.side, gold.position, gold.head_position, gold.is_root, $clamped,
                extent.first_position, extent.last_position
            ) then 1 else 0
        end as by_offset
    from gold
    inner join (select unnest(directions()) as direction) as scored_direction
        on applies_to_side(scored_direction.direction, gold.side)
    left join baseline
        on baseline.relation = gold.relation
        and baseline.side = judged_side(scored_direction.direction, gold.side)
    -- Where a clamped offset stops.
    left join sentence_extent(
        runs := case when $clamped then (select list(id) from chosen_run) else [] end
    ) as extent using (sequence, sentence)
),

hit as (
    select
        peak.layer, peak.head, directed_dependent.relation, directed_dependent.direction, directed_dependent.cluster,
        directed_dependent.by_offset,
        min(directed_dependent.scored_side) as side,
        count(*) as n,
        sum(
            finds_head(
                directed_dependent.direction, directed_dependent.side, peak.most_attended, peak.most_attending,
                directed_dependent.head_position
            )
        ) as correct
    from directed_dependent
    inner join peak using (sequence, position)
    group by all
),

per_cluster as materialized (
    select
        layer, head, relation, direction, cluster,
        dense_rank() over (order by relation, layer, head, direction) as number,
        min(side) as side,
        cast(sum(n) as bigint) as n,
        cast(sum(correct) as bigint) as correct,
        cast(sum(case when by_offset = 0 then correct else 0 end) as bigint) as only_head,
        cast(sum(case when by_offset = 1 then n - correct else 0 end) as bigint) as only_offset
    from hit
    group by layer, head, relation, direction, cluster
),

head_relation as materialized (
    select
        layer, head, relation, direction, number,
        min(side) as side,
        cast(sum(n) as bigint) as n,
        cast(sum(correct) as bigint) as correct,
        clustered_n(correct, n) as effective
    from per_cluster
    group by all
),

tested_head_relation as (
    select
        head_relation.layer, head_relation.head, head_relation.relation, head_relation.direction, head_relation.n,
        ratio(head_relation.correct, head_relation.n) as accuracy,
        head_relation.effective,
        ratio(head_relation.n, relation_size.n) as findable,
        baseline."offset",
        baseline.accuracy as offset_accuracy,
        share_above(head_relation.correct, head_relation.n, baseline.correct, baseline.n) as gain,
        case when baseline.n > 0 then test.p_value end as p_value,
        case when baseline.n > 0 then test.p_corrected end as p_corrected,
        sum(case when head_relation.n >= 10 then 1 else 0 end) over () as tried
    from head_relation
    inner join relation_size using (relation)
    inner join paired_test(
        pairs := (select list([number, cluster, n, only_head, only_offset]) from per_cluster),
        family := (select list(number) from head_relation where n >= 10)
    ) as test on test.number = head_relation.number
    left join baseline using (relation, side)
),

ranked_head_relation as (
    select
        tested_head_relation.*,
        row_number() over (partition by layer, head order by gain desc nulls last, relation, direction) as rank
    from tested_head_relation
    where n >= $min_count
)

select
    layer, head, rank, relation, direction, n, accuracy,
    wilson_low(accuracy * effective, effective) as low,
    wilson_high(accuracy * effective, effective) as high,
    "offset", offset_accuracy, gain, p_value, p_corrected,
    cast(tried as bigint) as tried,
    findable,
    (select name from chosen_run) as run
from ranked_head_relation
where rank <= $most
order by layer, head, rank
