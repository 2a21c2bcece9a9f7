-- title: Which model finds which relation best: the best head of every run for each relation
-- paper: beside Clark et al. 2019, section 4.2; the test is that of best_head_held_out
-- grain: one row per (relation, run), the most frequent relation first, then the run that finds most of it
-- formula: head, accuracy, low, high, offset, offset_accuracy and held_out_accuracy as in best_head
-- formula: control_accuracy = the highest accuracy of any head and direction of any control run on the same dependents;
--   excess = accuracy − control_accuracy
-- formula: p_value, p_corrected as in best_head_held_out (min_count := 1): of held_out_gain, corrected for the relations
--   of the run
-- plot: bars x=accuracy y=run low=low high=high beside=offset_accuracy,control_accuracy label=layer,head panel=relation
--   aside=n domain=0,1
-- empty: no finished run of words with trees has min_count dependents of a relation (--min-count 1 shows them all)
-- note: every finished run of words over a corpus with trees competes, whatever its context and measure, also one over a
--   part of its corpus (is_whole is false). Runs of random weights do not: they are the controls of the others (attnbank
--   ingest ... --random-weights 1), and control_accuracy is null where a run has none.
-- note: only runs with the same n are scored on as many words: runs over other corpora, or over a part, are not, and n
--   tells them apart. compare_runs tests two runs on the words of both.
-- note: accuracy is too high for a head that was chosen on the same words, in the control as well; held_out_accuracy,
--   perhaps of another head, and the p values are not.
-- note: of a causal model the head is scored on the dependents that its direction can find (see gold_dependency), and
--   runs are ordered by overall, the share of all dependents, which of other models is accuracy. later_to_earlier is
--   given the side of the head, as the directions of other models are not: compare_runs gives it to both.
-- note: p values are null for a relation that was saved from a request about attention (see head_score).
-- param relation, corpora, min_count, subtypes, possessive, offsets
-- column relation
-- column run varchar: name of the run
-- column model varchar: name of its model
-- column corpus, language
-- column n, layer, head, direction, accuracy, low, high, offset, offset_accuracy
-- column control_accuracy double: the highest accuracy of a head of random weights; null without a control
-- column excess double: accuracy minus control_accuracy
-- column held_out_accuracy double: accuracy on every second document (or sentence) of the best head of the others
-- column held_out_gain double: held_out_accuracy minus the accuracy there of the offset that is best on the others
-- column p_value double: how likely held_out_gain is by chance; null where the half has fewer than 5 clusters
-- column p_corrected double: p_value, corrected for the relations; null for one with fewer than 10 dependents in a half
-- column is_whole boolean: whether the run is over its whole corpus, and not a part of it (--limit)
-- column control_run varchar: name of the control with control_accuracy, of equals the first
-- column control_n bigint: dependents that the control is scored on: n, unless it is over another part of the corpus
-- column control_seeds bigint: controls of the run, one per seed of random weights
-- column findable, overall
with competitor as materialized (
    select
        candidate.id, candidate.name,
        model.name as model,
        corpus.name as corpus,
        corpus.language, candidate.is_whole
    from run_candidate(unit := 'word', needs := 'trees') as candidate
    inner join model on model.id = candidate.model
    inner join corpus on corpus.id = candidate.corpus
    where candidate.unusable_because is null
        and candidate.is_finished
        and model.random_seed is null
        and ($corpora is null or list_contains($corpora, corpus.name))
),

best as (
    select hit.*
    from pair_hit(
        runs := (select list(id) from competitor), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), by_documents := true
    ) as hit
    where n >= $min_count
        and ($relation is null or relation = $relation)
    qualify row_number() over (partition by run, relation order by correct desc, layer, head, direction) = 1
),

control as materialized (
    select control_run.run, control_run.control, control_run.seed
    from control_run() as control_run
    inner join competitor on competitor.id = control_run.run
),

control_count as (
    select run, count(*) as seeds
    from control
    group by all
),

best_control as (
    select
        control.run, hit.relation, hit.side, hit.correct, hit.n, hit.accuracy,
        run.name
    from pair_hit(
        runs := (select list(distinct control) from control), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation)
    ) as hit
    inner join control on control.control = hit.run
    inner join run on run.id = control.control
    qualify row_number() over (
        partition by control.run, hit.relation, hit.side order by hit.accuracy desc, control.control, hit.n desc
    ) = 1
),

half_hit as (
    select
        hit.*,
        row_number() over (
            partition by run, relation, is_chosen_on
            order by correct desc, layer, head, direction
        ) as place,
        max(n) over (partition by run, relation, is_chosen_on) as n_of_part
    from held_out_hit(
        runs := (select list(id) from competitor), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), choose := 'half', min_count := 1
    ) as hit
),

-- The head that is best on one half, scored on the other.
held_out as materialized (
    select
        scored.run, scored.relation, scored.layer, scored.head, scored.direction, scored.side, scored.accuracy,
        least(selected.n_of_part, scored.n_of_part) >= 10 and scored.relation <> 'all' as is_in_family
    from half_hit as selected
    inner join half_hit as scored using (run, relation, layer, head, direction)
    where selected.is_chosen_on
        and selected.place = 1
        and not scored.is_chosen_on
),

half_baseline as (
    select fixed_offset.*
    from best_offset(
        runs := (select list(id) from competitor), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), offsets := $offsets, choose := 'half'
    ) as fixed_offset
),

per_cluster as materialized (
    select comparison.*, dense_rank() over (order by run, relation) as number
    from head_against_offset(
        runs := (select list(id) from competitor), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), choose := 'half',
        heads := (
            select
                list([
                    cast(held_out.run as varchar), held_out.relation, cast(held_out.layer as varchar),
                    cast(held_out.head as varchar), held_out.direction, cast(half_baseline."offset" as varchar)
                ])
            from held_out
            inner join half_baseline using (run, relation, side)
        )
    ) as comparison
),

numbered as materialized (
    select distinct number, run, relation
    from per_cluster
),

-- Spark orders by no window function.
relation_size as (
    select relation, sum(n) as n
    from best
    group by all
)

select
    best.relation,
    competitor.name as run,
    competitor.model, competitor.corpus, competitor.language,
    best.n, best.layer, best.head, best.direction, best.accuracy,
    wilson_low(best.accuracy * best.effective, best.effective) as low,
    wilson_high(best.accuracy * best.effective, best.effective) as high,
    baseline."offset",
    baseline.accuracy as offset_accuracy,
    best_control.accuracy as control_accuracy,
    share_above(best.correct, best.n, best_control.correct, best_control.n) as excess,
    held_out.accuracy as held_out_accuracy,
    test.difference as held_out_gain,
    test.p_value,
    case when best.relation = 'all' then test.p_value else test.p_corrected end as p_corrected,
    competitor.is_whole,
    best_control.name as control_run,
    best_control.n as control_n,
    coalesce(control_count.seeds, 0) as control_seeds,
    best.findable, best.overall
from best
inner join competitor on competitor.id = best.run
inner join relation_size using (relation)
left join best_offset(
    runs := (select list(id) from competitor), subtypes := $subtypes, possessive := $possessive,
    saved := saved_relation_name($relation), offsets := $offsets
) as baseline using (run, relation, side)
left join best_control using (run, relation, side)
left join control_count using (run)
left join held_out using (run, relation)
left join numbered using (run, relation)
left join paired_test(
    pairs := (select list([number, cluster, n, only_head, only_offset]) from per_cluster),
    family := (
        select list(numbered.number)
        from numbered
        inner join held_out using (run, relation)
        where held_out.is_in_family
    ),
    families := (select list([number, run]) from numbered), is_circular := is_circular($relation)
) as test on test.number = numbered.number
order by relation_size.n desc, best.relation, best.overall desc, best.n desc, competitor.name
