-- title: The score of every head on one relation, compared with the best fixed offset
-- paper: beside Clark et al. 2019, section 4.2; the test is by sign flips (Winkler et al. 2014), corrected by the
--   largest statistic (max-T, Westfall and Young 1993)
-- grain: one row per (layer, head, direction), the best first
-- formula: accuracy as in head_accuracy, offset and offset_accuracy as in best_head
-- formula: low, high as in best_head
-- formula: gain_low, gain_high: 95 % of the paired difference (Bonett and Price 2012), where only_head, only_offset and
--   n are scaled to the effective number of independent dependents, by clusters
-- formula: cohens_h = 2 arcsin √accuracy − 2 arcsin √offset_accuracy
-- formula: p_value = share of the signs s ∈ {−1, 1}ᴰ with Σ_d s_d x_d ≥ Σ_d x_d, where x_d = only_head − only_offset in
--   cluster d of D (a document, or a sentence: see clustered_by); 1 if Σ_d x_d ≤ 0
-- formula: p_corrected = share of the signs with max_h T_h(s) ≥ T_h(1), where T_h(s) = Σ_d s_d x_hd / √(Σ_d x_hd²), and
--   h is every head and direction here: all the signs of up to 11 clusters, of more 1,999 drawn ones and 1
-- formula: clusters_needed = ⌈D v (1.645 + 0.842)² / 0.05²⌉, where v is the variance of gain by clusters; at least 5
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=gain panel=direction
-- empty: no dependent has the relation
-- note: the offset is the best of those tried on these very pairs, so that the test is against a strong baseline.
-- note: a relation that was saved from a request about attention (A =[3-1]=> B) is circular, and its p values are null;
--   of a request that reads attention in another way, only the commands and Python know it.
-- note: p_value and p_corrected are null where there are fewer than 5 clusters: the smallest possible p is 1/2ᴰ.
-- note: McNemar's test would assume that dependents are independent of each other, which those of a document are not,
--   and is too often significant: mcnemar_better(only_head, only_offset) has its p.
-- note: of a causal model each direction and offset is scored on the dependents that it can find (see gold_dependency).
-- note: low and high are for a head that was not chosen for its accuracy; they are too high for the best of many.
-- param relation varchar = null: a relation of the trees, or a saved one; by default all
-- param offsets, run, subtypes, possessive
-- column layer, head, direction, n, clusters, clustered_by, correct, accuracy, low, high
-- column design_effect double: variance of accuracy, divided by what it were if the dependents were independent
-- column ceiling, offset, offset_accuracy, gain, gain_low, gain_high, cohens_h, only_head, only_offset,
--   clusters_needed, p_value, p_corrected, p_documents, p_documents_corrected, findable, overall, run
with baseline as (
    select side, "offset", accuracy, correct, n
    from best_offset(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), offsets := $offsets
    ) as best
    where relation = coalesce($relation, 'all')
),

gold as (
    select sequence, position, head_position, cluster, side
    from gold_dependency(
        run := $run, subtypes := $subtypes, possessive := $possessive, saved := saved_relation_name($relation)
    ) as dependency
    where coalesce($relation, 'all') = 'all' or (relation = $relation and not is_root)
),

-- The head of the most dependents that stand at one position.
most_reachable as (
    select side, count(*) as n
    from gold
    where head_position is not null
    group by side, sequence, position, head_position
    qualify row_number() over (partition by side, sequence, position order by count(*) desc, head_position) = 1
),

most_correct as (
    select scored_direction.direction, sum(most_reachable.n) as n
    from most_reachable
    inner join (select unnest(directions()) as direction) as scored_direction
        on applies_to_side(scored_direction.direction, most_reachable.side)
    group by all
),

comparison as (
    select
        peak.layer, peak.head, scored_direction.direction,
        judged_side(scored_direction.direction, gold.side) as scored_side,
        gold.cluster,
        case
            when is_at_offset(baseline."offset", baseline.side, gold.position, gold.head_position) then 1 else 0
        end as by_offset,
        finds_head(
            scored_direction.direction, gold.side, peak.most_attended, peak.most_attending, gold.head_position
        ) as by_head
    from gold
    inner join (select unnest(directions()) as direction) as scored_direction
        on applies_to_side(scored_direction.direction, gold.side)
    inner join peak using (sequence, position)
    left join baseline on baseline.side = judged_side(scored_direction.direction, gold.side)
),

per_cluster as materialized (
    select
        layer, head, direction, cluster,
        dense_rank() over (order by layer, head, direction) as number,
        min(scored_side) as side,
        count(*) as n,
        cast(sum(by_head) as bigint) as correct,
        cast(sum(by_head * (1 - by_offset)) as bigint) as only_head,
        cast(sum(by_offset * (1 - by_head)) as bigint) as only_offset
    from comparison
    group by layer, head, direction, cluster
),

per_head as (
    select
        layer, head, direction, number,
        min(side) as side,
        cast(sum(n) as bigint) as n,
        cast(sum(correct) as bigint) as correct,
        ratio(sum(correct), sum(n)) as accuracy,
        clustered_effect(correct, n) as design_effect,
        clustered_n(correct, n) as effective
    from per_cluster
    group by all
)

select
    per_head.layer, per_head.head, per_head.direction, per_head.n, test.clusters,
    (
        select max(clustered_by)
        from corpus_document(runs := (select list(id) from chosen_run)) as clustered_document
    ) as clustered_by,
    per_head.correct, per_head.accuracy,
    wilson_low(per_head.accuracy * per_head.effective, per_head.effective) as low,
    wilson_high(per_head.accuracy * per_head.effective, per_head.effective) as high,
    per_head.design_effect,
    ratio(most_correct.n, per_head.n) as ceiling,
    baseline."offset",
    baseline.accuracy as offset_accuracy,
    share_above(per_head.correct, per_head.n, baseline.correct, baseline.n) as gain,
    case when baseline.n > 0 then test.low end as gain_low,
    case when baseline.n > 0 then test.high end as gain_high,
    cohens_h(per_head.accuracy, baseline.accuracy) as cohens_h,
    test.only_a as only_head,
    test.only_b as only_offset,
    case when baseline.n > 0 then clusters_to_detect(cast(0.05 as double), test.variance, test.clusters) end
        as clusters_needed,
    test.p_value, test.p_corrected,
    test.p_value as p_documents,
    test.p_corrected as p_documents_corrected,
    ratio(per_head.n, (select count(*) from gold)) as findable,
    ratio(per_head.correct, (select count(*) from gold)) as overall,
    (select name from chosen_run) as run
from per_head
inner join paired_test(
    pairs := (select list([number, cluster, n, only_head, only_offset]) from per_cluster),
    family := (select list(distinct number) from per_cluster), is_circular := is_circular($relation)
) as test on test.number = per_head.number
left join baseline using (side)
left join most_correct using (direction)
order by per_head.correct desc, per_head.layer, per_head.head, per_head.direction
