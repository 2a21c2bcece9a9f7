-- title: The best head for each relation, chosen on one half of the documents and scored on the other
-- paper: beside Clark et al. 2019, section 4.2, which picks and scores on the same words
-- grain: one row per relation, the most frequent first
-- formula: (head, direction)*(r) = argmax_{h, v} accuracy_{h,v}(r) over the dependents that it is chosen on
-- formula: accuracy(r) = the accuracy of that head and direction over the dependents that it is scored on
-- formula: optimism(r) = max_{h, v} accuracy_{h,v}(r) − accuracy(r), both over the dependents that it is scored on
-- formula: low, high as in best_head
-- formula: offset(r) = the offset that is best on the dependents that the head is chosen on; offset_accuracy, gain,
--   gain_low, gain_high, cohens_h and p_value as in head_score, over the dependents that it is scored on
-- formula: p_corrected: as in head_score, where the largest statistic is of the relations that have 10 dependents or
--   more in both halves, whichever are shown; all is not one, and its p_corrected is its p_value
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=accuracy y=relation low=low high=high beside=offset_accuracy,in_sample_accuracy label=layer,head aside=n
--   domain=0,1
-- empty: no relation has min_count dependents in either half (--min-count 1 shows them all)
-- note: halves are every second document, or every second sentence if the source marks no documents or the run has only
--   one. Head and offset are chosen before they are scored, so that p_value is one test, without a correction for heads.
-- note: of a causal model the head is scored on the dependents that its direction can find (see gold_dependency), and
--   in_sample_accuracy is the best of that direction. Equal heads are decided as in best_head; a direction needs 10
--   dependents in both halves together, or min_count if that is smaller.
-- param relation
-- param min_count integer = 10: leave out relations with fewer dependents in either half
-- param choose varchar = 'half' {half, train}: chosen on a half, or on documents whose split is train, scored on others
-- param run, subtypes, possessive, offsets
-- column relation, n, layer, head, direction, accuracy, low, high, offset, offset_accuracy, gain, gain_low, gain_high,
--   cohens_h
-- column clusters bigint: how many clusters the scored dependents are in
-- column clustered_by, p_value
-- column p_corrected double: p_value, corrected for the relations; null for one with fewer than 10 dependents
-- column chosen_n bigint: dependents that the head was chosen on
-- column chosen_accuracy double: its accuracy on those
-- column in_sample_accuracy double: the best accuracy of any head on the scored dependents, as the paper would report
-- column optimism, findable, overall, run
with ranked_hit as (
    select
        hit.*,
        row_number() over (partition by relation, is_chosen_on order by correct desc, layer, head, direction) as place,
        row_number() over (
            partition by relation, is_chosen_on, side
            order by correct desc, layer, head, direction
        ) as place_on_side,
        max(n) over (partition by relation, is_chosen_on) as n_of_part
    from held_out_hit(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), choose := $choose, min_count := least(10, $min_count)
    ) as hit
    where saved_relation_name($relation) is null
        or relation = $relation
),

best as (
    select
        selected.run, selected.relation, selected.layer, selected.head, selected.direction, selected.side,
        selected.n as chosen_n,
        selected.accuracy as chosen_accuracy,
        scored.n, scored.accuracy, scored.effective,
        in_sample.accuracy as in_sample_accuracy,
        scored.findable, scored.overall,
        least(selected.n_of_part, scored.n_of_part) as n_of_smaller,
        least(selected.n_of_part, scored.n_of_part) >= 10 and selected.relation <> 'all' as is_in_family
    from ranked_hit as selected
    inner join ranked_hit as scored using (relation, layer, head, direction, side)
    inner join ranked_hit as in_sample using (relation, side)
    where selected.is_chosen_on
        and selected.place = 1
        and not scored.is_chosen_on
        and not in_sample.is_chosen_on
        and in_sample.place_on_side = 1
),

baseline as (
    select fixed_offset.*
    from best_offset(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), offsets := $offsets, choose := $choose
    ) as fixed_offset
),

per_cluster as materialized (
    select comparison.*, dense_rank() over (order by relation) as number
    from head_against_offset(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), choose := $choose,
        heads := (
            select
                list([
                    cast(best.run as varchar), best.relation, cast(best.layer as varchar), cast(best.head as varchar),
                    best.direction, cast(baseline."offset" as varchar)
                ])
            from best
            inner join baseline using (relation, side)
        )
    ) as comparison
),

per_relation as (
    select relation, number, ratio(sum(by_offset), sum(n)) as offset_accuracy
    from per_cluster
    group by all
)

select
    best.relation, best.n, best.layer, best.head, best.direction, best.accuracy,
    wilson_low(best.accuracy * best.effective, best.effective) as low,
    wilson_high(best.accuracy * best.effective, best.effective) as high,
    baseline."offset", per_relation.offset_accuracy,
    test.difference as gain,
    test.low as gain_low,
    test.high as gain_high,
    cohens_h(best.accuracy, per_relation.offset_accuracy) as cohens_h,
    test.clusters,
    (
        select max(clustered_by)
        from corpus_document(runs := (select list(id) from chosen_run)) as clustered_document
    ) as clustered_by,
    test.p_value,
    case when best.relation = 'all' then test.p_value else test.p_corrected end as p_corrected,
    best.chosen_n, best.chosen_accuracy, best.in_sample_accuracy,
    best.in_sample_accuracy - best.accuracy as optimism,
    best.findable, best.overall,
    (select name from chosen_run) as run
from best
left join baseline using (relation, side)
left join per_relation using (relation)
left join paired_test(
    pairs := (select list([number, cluster, n, only_head, only_offset]) from per_cluster),
    family := (
        select list(per_relation.number)
        from per_relation
        inner join best using (relation)
        where best.is_in_family
    ),
    is_circular := is_circular($relation)
) as test on test.number = per_relation.number
where best.n_of_smaller >= $min_count
    and ($relation is null or best.relation = $relation)
order by best.n desc, best.relation
