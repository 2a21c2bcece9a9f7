-- title: Every head on the pairs of one relation, against the best fixed offset
-- paper: beside Clark et al. 2019, section 4.2; the tests are McNemar's and of sign flips, both exact and one-sided
-- grain: one row per (layer, head, direction), the best first
-- formula: accuracy as in head_accuracy, offset and offset_accuracy as in best_head
-- formula: low, high as in best_head
-- formula: p_value = Σ_{k=0}^{only_offset} C(m, k) / 2ᵐ, where m = only_head + only_offset
-- formula: p_documents = share of the signs s ∈ {−1, 1}ᴰ with Σ_d s_d x_d ≥ Σ_d x_d, where x_d = only_head −
--   only_offset in cluster d of D (a document, or a sentence: see clustered_by); 1 if Σ_d x_d ≤ 0
-- formula: p_corrected = min(1, p_value · number of rows), for all the heads and directions that were tried
--   (Bonferroni); p_documents_corrected likewise
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=gain panel=direction
-- empty: no dependent has the relation
-- note: the offset is the best of those that are tried on these very pairs, so that the test is against a strong guess.
-- note: a relation that was saved from a request about attention (A =[3-1]=> B) is circular, and its p values are null;
--   of a request that reads attention in another way, only the commands and Python know it.
-- note: p_value takes the pairs for independent, which those of a document seldom are: where the two differ, believe
--   p_documents. It is at least 1/2ᴰ, so that with few clusters and many heads p_documents_corrected shows nothing.
--   Clusters beyond the hundredth are counted with those before (see gold_dependency, cluster).
-- note: of a causal model each direction, and its offset, are judged on the dependents that the direction can find (see
--   gold_dependency).
-- note: offset is a word of SQL: write "offset", or qualify it.
-- note: low and high are for a head that was not chosen for its accuracy; they are too high for the best of many.
-- param relation varchar = null: a relation of the trees, or a saved one; by default all
-- param offsets, run, subtypes, possessive
-- column layer, head, direction, n, clusters, clustered_by, correct, accuracy, low, high
-- column design_effect double: variance of accuracy, divided by what it were if the dependents were independent
-- column ceiling, offset, offset_accuracy, gain
-- column only_head bigint: dependents whose head the head finds and the offset does not
-- column only_offset bigint: dependents whose head the offset finds and the head does not
-- column p_value, p_corrected, p_documents, p_documents_corrected, findable, overall, run
with

baseline as (
    select best.side, best."offset", best.accuracy, best.correct, best.n
    from best_offset(
        runs := (select list(chosen_run.id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := as_saved($relation), offsets := $offsets
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
        run := $run, subtypes := $subtypes, possessive := $possessive, saved := as_saved($relation)
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
        clustered_n(per_cluster.correct, per_cluster.n) as effective
    from per_cluster
    group by per_cluster.layer, per_cluster.head, per_cluster.direction
),

tested as (
    select
        scored.*,
        ratio(scored.correct, scored.n) as accuracy,
        case when not is_circular($relation) then mcnemar_better(scored.only_head, scored.only_offset) end as p_value,
        case when not is_circular($relation) then sign_flips(scored.differences) end as p_documents,
        count(*) over () as tried
    from scored
)

select
    tested.layer,
    tested.head,
    tested.direction,
    tested.n,
    tested.clusters,
    (
        select max(placed.clustered_by)
        from corpus_document(runs := (select list(chosen_run.id) from chosen_run)) as placed
    ) as clustered_by,
    tested.correct,
    tested.accuracy,
    wilson_low(tested.accuracy * tested.effective, tested.effective) as low,
    wilson_high(tested.accuracy * tested.effective, tested.effective) as high,
    tested.design_effect,
    ratio(most_correct.n, tested.n) as ceiling,
    baseline."offset",
    baseline.accuracy as offset_accuracy,
    share_above(tested.correct, tested.n, baseline.correct, baseline.n) as gain,
    tested.only_head,
    tested.only_offset,
    tested.p_value,
    bonferroni(tested.p_value, tested.tried) as p_corrected,
    tested.p_documents,
    bonferroni(tested.p_documents, tested.tried) as p_documents_corrected,
    ratio(tested.n, (select count(*) from gold)) as findable,
    ratio(tested.correct, (select count(*) from gold)) as overall,
    (select chosen_run.name from chosen_run) as run
from tested
left join baseline on baseline.side = tested.side
left join most_correct on most_correct.direction = tested.direction
order by tested.correct desc, tested.layer, tested.head, tested.direction
