-- title: Every head on the pairs of one relation, against the best fixed offset
-- paper: beside Clark et al. 2019, section 4.2; the test is by sign flips (Winkler et al. 2014), corrected by the largest
--   statistic (max-T, Westfall and Young 1993)
-- grain: one row per (layer, head, direction), the best first
-- formula: accuracy as in head_accuracy, offset and offset_accuracy as in best_head
-- formula: low, high as in best_head
-- formula: gain_low, gain_high: 95 % of the paired difference (Bonett and Price 2012), where only_head, only_offset and n are
--   as many as tell as much if dependents were independent, by clusters
-- formula: cohens_h = 2 arcsin √accuracy − 2 arcsin √offset_accuracy
-- formula: p_value = share of the signs s ∈ {−1, 1}ᴰ with Σ_d s_d x_d ≥ Σ_d x_d, where x_d = only_head − only_offset in
--   cluster d of D (a document, or a sentence: see clustered_by); 1 if Σ_d x_d ≤ 0
-- formula: p_corrected = share of the signs with max_h T_h(s) ≥ T_h(1), where T_h(s) = Σ_d s_d x_hd / √(Σ_d x_hd²), and h is
--   every head and direction here: all the signs of up to 11 clusters, of more 1,999 drawn ones and 1
-- formula: clusters_needed = ⌈D v (1.645 + 0.842)² / 0.05²⌉, where v is the variance of gain by clusters, and at least 5
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=gain panel=direction
-- empty: no dependent has the relation
-- note: the offset is the best of those that are tried on these very pairs, so that the test is against a strong guess.
-- note: a relation that was saved from a request about attention (A =[3-1]=> B) is circular, and its p values are null;
--   of a request that reads attention in another way, only the commands and Python know it.
-- note: p_value and p_corrected go by clusters, and are empty where there are fewer than 5: whatever is observed, p is
--   at least 1/2ᴰ. p_documents and p_documents_corrected are the same figures by an older name. Clusters beyond the
--   hundredth are counted with those before (see gold_dependency, cluster).
-- note: McNemar's test would take dependents for independent of each other, which those of a document are not, and finds
--   too much: mcnemar_better(only_head, only_offset) has its p.
-- note: of a causal model each direction, and its offset, are judged on the dependents that the direction can find (see
--   gold_dependency).
-- note: offset is a word of SQL: write "offset", or qualify it.
-- note: low and high are for a head that was not chosen for its accuracy; they are too high for the best of many.
-- param relation varchar = null: a relation of the trees, or a saved one; by default all
-- param offsets, run, subtypes, possessive
-- column layer, head, direction, n, clusters, clustered_by, correct, accuracy, low, high
-- column design_effect double: variance of accuracy, divided by what it were if the dependents were independent
-- column ceiling, offset, offset_accuracy, gain, gain_low, gain_high, cohens_h
-- column only_head bigint: dependents whose head the head finds and the offset does not
-- column only_offset bigint: dependents whose head the offset finds and the head does not
-- column clusters_needed, p_value, p_corrected, p_documents, p_documents_corrected, findable, overall, run
with

baseline as (
    select best.side, best."offset", best.accuracy, best.correct, best.n
    from best_offset(
        runs := (select list(chosen_run.id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), offsets := $offsets
    ) as best
    where best.relation = coalesce($relation, 'all')
),

gold as (
    select
        dependency.sequence,
        dependency.position,
        dependency.head_position,
        dependency.cluster,
        dependency.side
    from gold_dependency(
        run := $run, subtypes := $subtypes, possessive := $possessive, saved := saved_relation_name($relation)
    ) as dependency
    where $relation is null
        or $relation = 'all'
        or (dependency.relation = $relation and not dependency.is_root)
),

-- The head of the most dependents that stand at one position.
most_reachable as (
    select gold.side, count(*) as n
    from gold
    where gold.head_position is not null
    group by gold.side, gold.sequence, gold.position, gold.head_position
    qualify row_number() over (
        partition by gold.side, gold.sequence, gold.position order by count(*) desc, gold.head_position
    ) = 1
),

most_correct as (
    select judging.direction, sum(most_reachable.n) as n
    from most_reachable
    inner join (select unnest(directions()) as direction) as judging on judges(judging.direction, most_reachable.side)
    group by judging.direction
),

judged as (
    select
        peak.layer,
        peak.head,
        judging.direction,
        judged_side(judging.direction, gold.side) as judged_on,
        gold.cluster,
        case
            when stands_at(baseline."offset", baseline.side, gold.position, gold.head_position) then 1
            else 0
        end as by_offset,
        case
            when found_in(judging.direction, gold.side, peak.most_attended, peak.most_attending) = gold.head_position
                then 1
            else 0
        end as by_head
    from gold
    inner join (select unnest(directions()) as direction) as judging on judges(judging.direction, gold.side)
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
    left join baseline on baseline.side = judged_side(judging.direction, gold.side)
),

per_cluster as (
    select
        judged.layer,
        judged.head,
        judged.direction,
        judged.cluster,
        min(judged.judged_on) as side,
        count(*) as n,
        cast(sum(judged.by_head) as bigint) as correct,
        cast(sum(judged.by_head * (1 - judged.by_offset)) as bigint) as only_head,
        cast(sum(judged.by_offset * (1 - judged.by_head)) as bigint) as only_offset
    from judged
    group by judged.layer, judged.head, judged.direction, judged.cluster
),

scored as (
    select
        per_cluster.layer,
        per_cluster.head,
        per_cluster.direction,
        min(per_cluster.side) as side,
        cast(sum(per_cluster.n) as bigint) as n,
        count(*) as clusters,
        cast(sum(per_cluster.correct) as bigint) as correct,
        cast(sum(per_cluster.only_head) as bigint) as only_head,
        cast(sum(per_cluster.only_offset) as bigint) as only_offset,
        list_sort(list(per_cluster.only_head - per_cluster.only_offset)) as differences,
        clustered_effect(per_cluster.correct, per_cluster.n) as design_effect,
        clustered_n(per_cluster.correct, per_cluster.n) as effective,
        clustered_pairs(per_cluster.only_head, per_cluster.only_offset, per_cluster.n) as effective_pairs,
        clustered_variance(per_cluster.only_head - per_cluster.only_offset, per_cluster.n) as variance
    from per_cluster
    group by per_cluster.layer, per_cluster.head, per_cluster.direction
),

numbered as (
    select
        scored.*,
        row_number() over (order by scored.correct desc, scored.layer, scored.head, scored.direction) as number
    from scored
),

flip as (
    select test.number, test.p_corrected
    from flip_test(
        differences := (
            select list([numbered.number, per_cluster.cluster, per_cluster.only_head - per_cluster.only_offset])
            from per_cluster
            inner join numbered
                on numbered.layer = per_cluster.layer
                and numbered.head = per_cluster.head
                and numbered.direction = per_cluster.direction
        )
    ) as test
),

tested as (
    select
        numbered.*,
        ratio(numbered.correct, numbered.n) as accuracy,
        case
            when numbered.clusters >= 5 and not is_circular($relation) then sign_flips(numbered.differences)
        end as p_value
    from numbered
),

corrected as (
    select
        tested.*,
        case
            when tested.p_value is not null
                then greatest(tested.p_value, coalesce(flip.p_corrected, cast(1 as double)))
        end as p_corrected
    from tested
    left join flip on flip.number = tested.number
)

select
    corrected.layer,
    corrected.head,
    corrected.direction,
    corrected.n,
    corrected.clusters,
    (
        select max(placed.clustered_by)
        from corpus_document(runs := (select list(chosen_run.id) from chosen_run)) as placed
    ) as clustered_by,
    corrected.correct,
    corrected.accuracy,
    wilson_low(corrected.accuracy * corrected.effective, corrected.effective) as low,
    wilson_high(corrected.accuracy * corrected.effective, corrected.effective) as high,
    corrected.design_effect,
    ratio(most_correct.n, corrected.n) as ceiling,
    baseline."offset",
    baseline.accuracy as offset_accuracy,
    share_above(corrected.correct, corrected.n, baseline.correct, baseline.n) as gain,
    case
        when baseline.n > 0
            then paired_low(corrected.only_head, corrected.only_offset, corrected.n, corrected.effective_pairs)
    end as gain_low,
    case
        when baseline.n > 0
            then paired_high(corrected.only_head, corrected.only_offset, corrected.n, corrected.effective_pairs)
    end as gain_high,
    cohens_h(corrected.accuracy, baseline.accuracy) as cohens_h,
    corrected.only_head,
    corrected.only_offset,
    case
        when baseline.n > 0
            then clusters_to_detect(cast(0.05 as double), corrected.variance, corrected.clusters)
    end as clusters_needed,
    corrected.p_value,
    corrected.p_corrected,
    corrected.p_value as p_documents,
    corrected.p_corrected as p_documents_corrected,
    ratio(corrected.n, (select count(*) from gold)) as findable,
    ratio(corrected.correct, (select count(*) from gold)) as overall,
    (select chosen_run.name from chosen_run) as run
from corrected
left join baseline on baseline.side = corrected.side
left join most_correct on most_correct.direction = corrected.direction
order by corrected.number
