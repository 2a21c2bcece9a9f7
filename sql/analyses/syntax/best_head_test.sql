-- title: The best head of one relation, tested: against the best offset, and on text that it was not chosen on
-- paper: beside Clark et al. 2019, section 4.2; the test is McNemar's, exact
-- grain: one row
-- formula: as in best_head; corrected as in head_score; held_out_accuracy as in best_head_held_out
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=accuracy y=relation low=low high=high beside=offset_accuracy,held_out_accuracy label=layer,head
--   domain=0,1
-- empty: no dependent has the relation
-- note: offset is a word of SQL: write "offset", or qualify it.
-- param relation varchar = null: a relation of the trees, or a saved one; by default all
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- param offsets integer[] = [-3, -2, -1, 1, 2, 3]: the offsets that the baseline tries
-- column relation varchar: the relation, or all
-- column n bigint: dependents
-- column layer smallint: 1-based layer of the best head
-- column head smallint: 1-based number of the best head in its layer
-- column direction varchar: dependent_to_head or head_to_dependent
-- column accuracy double: share of the dependents whose head it finds, in [0, 1]
-- column low double: lower end of the 95 % Wilson interval of accuracy
-- column high double: upper end of the 95 % Wilson interval of accuracy
-- column offset integer: the best fixed offset (the nearest, then the left one, of equals)
-- column offset_accuracy double: share of the dependents whose head is there, in [0, 1]
-- column gain double: accuracy minus offset_accuracy
-- column corrected double: p value of the head against the offset, times the number of heads and directions, at most 1
-- column held_out_n bigint: dependents of the other half; null where there is none
-- column held_out_layer smallint: 1-based layer of the head that is best on every second document or sentence
-- column held_out_head smallint: 1-based number of that head in its layer
-- column held_out_direction varchar: dependent_to_head or head_to_dependent
-- column held_out_accuracy double: share of the dependents of the other half whose head it finds, in [0, 1]
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

best as (
    select
        scored.layer,
        scored.head,
        scored.direction,
        scored.n,
        scored.accuracy,
        scored.low,
        scored.high,
        scored."offset",
        scored.offset_accuracy,
        scored.gain,
        scored.corrected
    from head_score(
        relation := $relation, offsets := $offsets, run := $run, subtypes := $subtypes, possessive := $possessive
    ) as scored
    qualify row_number() over (order by scored.correct desc, scored.layer, scored.head, scored.direction) = 1
),

held_out as (
    select scored.n, scored.layer, scored.head, scored.direction, scored.accuracy
    from best_head_held_out(
        relation := coalesce($relation, 'all'),
        min_count := 1,
        run := $run,
        subtypes := $subtypes,
        possessive := $possessive
    ) as scored
)

select
    coalesce($relation, 'all') as relation,
    best.n,
    best.layer,
    best.head,
    best.direction,
    best.accuracy,
    best.low,
    best.high,
    best."offset",
    best.offset_accuracy,
    best.gain,
    best.corrected,
    held_out.n as held_out_n,
    held_out.layer as held_out_layer,
    held_out.head as held_out_head,
    held_out.direction as held_out_direction,
    held_out.accuracy as held_out_accuracy,
    (select chosen_run.name from chosen_run) as run
from best
left join held_out on true
order by best.layer, best.head, best.direction
