-- title: The relation that each head finds best, by how far it is above the best fixed offset
-- paper: Clark et al. 2019, section 4.2: table 1 the other way round, by head
-- grain: one row per head, or per (layer, head, rank) with most
-- formula: gain(h, v, r) = accuracy(h, v, r) − max_k offset_accuracy(k, r), as in best_head, where h is a head and v a direction
-- formula: relation*(h) = argmax_{r, v} gain(h, v, r), of relations with min_count dependents or more
-- formula: p_value as in head_score; p_corrected as there, where the largest statistic is of all heads, directions and
--   relations with 10 dependents or more, whichever of them are shown (tried: how many these are)
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=gain text=relation significant=p_corrected
-- empty: no relation has min_count dependents (--min-count 1 shows them all)
-- note: a gain of 0 or less: no relation is found better than by a fixed offset.
-- note: of many relations and two directions one is above its offset by chance: the picture names the relation only where
--   p_corrected is below 0.05. p_value and p_corrected go by clusters, and are empty where there are fewer than 5.
-- note: relations with fewer than 100 dependents are left out, as in the published code. The best of rare ones are the
--   luckiest heads: --min-count 10 shows them.
-- note: offset is a word of SQL: write "offset", or qualify it.
-- param most integer = 1: so many relations of each head, the best first
-- param min_count integer = 100: leave out relations with fewer dependents (published code: 100)
-- param run, subtypes, possessive, offsets, clamped
-- column layer, head
-- column rank bigint: 1 for the relation that is found best; of equal gains the first by name
-- column relation, direction, n, accuracy
-- column offset, offset_accuracy, gain
-- column p_value, p_corrected
-- column tried bigint: heads, directions and relations that were tried, for which p_corrected is corrected
-- column findable, run
with

gold as (
    select dependency.*
    from gold_pair(
        runs := (select list(chosen_run.id) from chosen_run), subtypes := $subtypes, possessive := $possessive
    ) as dependency
    where not dependency.is_root
),

total as (
    select gold.relation, count(*) as n
    from gold
    group by gold.relation
),

-- Where a clamped offset stops.
extent as (
    select
        position.sequence,
        word.sentence,
        min(position.position) as first_position,
        max(position.position) as last_position
    from position
    inner join word on word.id = position.word
    where $clamped
    group by position.sequence, word.sentence
),

baseline as (
    select best.relation, best.side, best."offset", best.accuracy, best.correct, best.n
    from best_offset(
        runs := (select list(chosen_run.id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        offsets := $offsets, clamped := $clamped
    ) as best
),

-- Each dependent in each direction that is judged on it, and whether the best offset finds its head.
judged as (
    select
        gold.sequence,
        gold.position,
        gold.head_position,
        gold.relation,
        gold.side,
        gold.cluster,
        judging.direction,
        judged_side(judging.direction, gold.side) as judged_on,
        case
            when offset_finds(
                baseline."offset", baseline.side, gold.position, gold.head_position, gold.is_root, $clamped,
                extent.first_position, extent.last_position
            ) then 1
            else 0
        end as by_offset
    from gold
    inner join (select unnest(directions()) as direction) as judging on judges(judging.direction, gold.side)
    left join baseline
        on baseline.relation = gold.relation
        and baseline.side = judged_side(judging.direction, gold.side)
    left join extent
        on extent.sequence = gold.sequence
        and extent.sentence = gold.sentence
),

hit as (
    select
        peak.layer,
        peak.head,
        judged.relation,
        judged.direction,
        judged.cluster,
        judged.by_offset,
        min(judged.judged_on) as side,
        count(*) as n,
        sum(
            case
                when found_in(judged.direction, judged.side, peak.most_attended, peak.most_attending)
                    = judged.head_position
                    then 1
                else 0
            end
        ) as correct
    from judged
    inner join peak
        on peak.sequence = judged.sequence
        and peak.position = judged.position
    group by peak.layer, peak.head, judged.relation, judged.direction, judged.cluster, judged.by_offset
),

per_cluster as (
    select
        hit.layer,
        hit.head,
        hit.relation,
        hit.direction,
        hit.cluster,
        min(hit.side) as side,
        cast(sum(hit.n) as bigint) as n,
        cast(sum(hit.correct) as bigint) as correct,
        cast(sum(case when hit.by_offset = 0 then hit.correct else hit.correct - hit.n end) as bigint) as difference
    from hit
    group by hit.layer, hit.head, hit.relation, hit.direction, hit.cluster
),

scored as (
    select
        per_cluster.layer,
        per_cluster.head,
        per_cluster.relation,
        per_cluster.direction,
        min(per_cluster.side) as side,
        cast(sum(per_cluster.n) as bigint) as n,
        cast(sum(per_cluster.correct) as bigint) as correct,
        count(*) as clusters,
        list_sort(list(per_cluster.difference)) as differences,
        row_number() over (
            order by per_cluster.relation, per_cluster.layer, per_cluster.head, per_cluster.direction
        ) as number
    from per_cluster
    group by per_cluster.layer, per_cluster.head, per_cluster.relation, per_cluster.direction
),

flip as (
    select test.number, test.p_corrected
    from flip_test(
        differences := (
            select list([scored.number, per_cluster.cluster, per_cluster.difference])
            from per_cluster
            inner join scored
                on scored.layer = per_cluster.layer
                and scored.head = per_cluster.head
                and scored.relation = per_cluster.relation
                and scored.direction = per_cluster.direction
            where scored.n >= 10
        )
    ) as test
),

tested as (
    select
        scored.layer,
        scored.head,
        scored.relation,
        scored.direction,
        scored.number,
        scored.n,
        ratio(scored.correct, scored.n) as accuracy,
        ratio(scored.n, total.n) as findable,
        baseline."offset",
        baseline.accuracy as offset_accuracy,
        share_above(scored.correct, scored.n, baseline.correct, baseline.n) as gain,
        case when baseline.n > 0 and scored.clusters >= 5 then sign_flips(scored.differences) end as p_value,
        sum(case when scored.n >= 10 then 1 else 0 end) over () as tried
    from scored
    inner join total on total.relation = scored.relation
    left join baseline
        on baseline.relation = scored.relation
        and baseline.side = scored.side
),

ranked as (
    select
        tested.*,
        row_number() over (
            partition by tested.layer, tested.head
            order by tested.gain desc nulls last, tested.relation, tested.direction
        ) as rank
    from tested
    where tested.n >= $min_count
)

select
    ranked.layer,
    ranked.head,
    ranked.rank,
    ranked.relation,
    ranked.direction,
    ranked.n,
    ranked.accuracy,
    ranked."offset",
    ranked.offset_accuracy,
    ranked.gain,
    ranked.p_value,
    case
        when ranked.p_value is not null and ranked.n >= 10
            then greatest(ranked.p_value, coalesce(flip.p_corrected, cast(1 as double)))
    end as p_corrected,
    cast(ranked.tried as bigint) as tried,
    ranked.findable,
    (select chosen_run.name from chosen_run) as run
from ranked
left join flip on flip.number = ranked.number
where ranked.rank <= $most
order by ranked.layer, ranked.head, ranked.rank
