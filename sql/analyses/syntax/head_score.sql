-- title: Every head on the pairs of one relation, against the best fixed offset
-- paper: beside Clark et al. 2019, section 4.2; the test is McNemar's, exact
-- grain: one row per (layer, head, direction), the best first
-- formula: accuracy as in head_accuracy, offset and offset_accuracy as in best_head
-- formula: p_value = min(1, 2 Σ_{k=0}^{min(only_head, only_offset)} C(n, k) / 2ⁿ), where n = only_head + only_offset
-- formula: corrected = min(1, p_value · number of rows), for all the heads and directions that were tried (Bonferroni)
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=gain panel=direction
-- empty: no dependent has the relation
-- note: the offset is the best of those that are tried on these very pairs, so that the test is against a strong guess.
-- note: offset is a word of SQL: write "offset", or qualify it.
-- param relation varchar = null: a relation of the trees, or a saved one; by default all
-- param offsets integer[] = [-3, -2, -1, 1, 2, 3]: offsets that are tried
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- column layer smallint: 1-based layer
-- column head smallint: 1-based number of the head in its layer
-- column direction varchar: dependent_to_head or head_to_dependent
-- column n bigint: dependents
-- column correct bigint: dependents whose head it finds
-- column accuracy double: share of the dependents whose head it finds, in [0, 1]
-- column low double: lower end of the 95 % Wilson interval of accuracy
-- column high double: upper end of the 95 % Wilson interval of accuracy
-- column offset integer: the best fixed offset (the nearest, then the left one, of equals)
-- column offset_accuracy double: share of the dependents whose head is there, in [0, 1]
-- column gain double: accuracy minus offset_accuracy
-- column only_head bigint: dependents whose head the head finds and the offset does not
-- column only_offset bigint: dependents whose head the offset finds and the head does not
-- column p_value double: how likely a split of those two at least as uneven is by chance, in [0, 1]
-- column corrected double: p_value times the number of heads and directions, at most 1
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

best_offset as (
    select baseline."offset", baseline.accuracy
    from offset_baseline(
        relation := coalesce($relation, 'all'),
        offsets := $offsets,
        run := $run,
        subtypes := $subtypes,
        possessive := $possessive
    ) as baseline
    qualify row_number() over (order by baseline.correct desc, abs(baseline."offset"), baseline."offset") = 1
),

gold as (
    select
        dependency.sequence,
        dependency.position,
        dependency.head_position,
        case
            when dependency.head_position = dependency.position + best_offset."offset" then 1
            else 0
        end as by_offset
    from gold_dependency(
        run := $run, subtypes := $subtypes, possessive := $possessive, saved := as_saved($relation)
    ) as dependency
    left join best_offset on true
    where $relation is null
        or $relation = 'all'
        or (dependency.relation = $relation and not dependency.is_root)
),

judged as (
    select
        peak.layer,
        peak.head,
        'dependent_to_head' as direction,
        gold.by_offset,
        case when peak.most_attended = gold.head_position then 1 else 0 end as by_head
    from gold
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
    union all
    select
        peak.layer,
        peak.head,
        'head_to_dependent' as direction,
        gold.by_offset,
        case when peak.most_attending = gold.head_position then 1 else 0 end as by_head
    from gold
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
),

scored as (
    select
        judged.layer,
        judged.head,
        judged.direction,
        count(*) as n,
        cast(sum(judged.by_head) as bigint) as correct,
        cast(sum(judged.by_head * (1 - judged.by_offset)) as bigint) as only_head,
        cast(sum(judged.by_offset * (1 - judged.by_head)) as bigint) as only_offset
    from judged
    group by judged.layer, judged.head, judged.direction
),

tested as (
    select
        scored.layer,
        scored.head,
        scored.direction,
        scored.n,
        scored.correct,
        scored.only_head,
        scored.only_offset,
        mcnemar(scored.only_head, scored.only_offset) as p_value,
        count(*) over () as tried
    from scored
)

select
    tested.layer,
    tested.head,
    tested.direction,
    tested.n,
    tested.correct,
    cast(tested.correct as double) / cast(tested.n as double) as accuracy,
    wilson_low(tested.correct, tested.n) as low,
    wilson_high(tested.correct, tested.n) as high,
    best_offset."offset",
    best_offset.accuracy as offset_accuracy,
    cast(tested.correct as double) / cast(tested.n as double) - best_offset.accuracy as gain,
    tested.only_head,
    tested.only_offset,
    tested.p_value,
    least(cast(1 as double), tested.p_value * tested.tried) as corrected,
    (select chosen_run.name from chosen_run) as run
from tested
left join best_offset on true
order by tested.correct desc, tested.layer, tested.head, tested.direction
