-- title: The best head for each relation in each corpus, beside the head that is best over all of them
-- paper: beside Clark et al. 2019, section 4.2, and Chi, Hewitt and Manning 2020 (multilingual BERT)
-- grain: one row per (relation, corpus)
-- formula: (head, direction)*_c(r) = argmax_{h, v} accuracy_c(r, h, v), as in head_accuracy over the run of corpus c
-- formula: common(r) = argmax_{h, v} of the mean over the corpora of accuracy_c(r, h, v)
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is accuracy and z = 1.96
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=accuracy y=corpus low=low high=high beside=common_accuracy label=layer,head panel=relation domain=0,1
-- empty: no relation has min_count dependents in a corpus (--min-count 1 shows them all)
-- note: the runs are those of one model over every corpus of the bank with trees: the run that answers, and of each other
--   corpus the newest with its context, unit and way to merge pieces. The model must have read them all to be compared.
-- note: the corpora count alike, however large they are. A corpus with fewer than min_count dependents of a relation has
--   no row for it, and no say in its common head.
-- note: each best head is picked on the words that it is scored on; universal_head says what that is worth.
-- note: offset is a word of SQL: write "offset", or qualify it.
-- param relation varchar = null: only this relation (or all); by default every one
-- param corpora varchar[] = null: names of the corpora; by default all over which the model was run
-- param min_count integer = 10: leave out relations with fewer dependents in a corpus
-- param run varchar = null: name or id of a run of the model; by default the bank's own choice, else the newest
--   finished one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param offsets integer[] = [-3, -2, -1, 1, 2, 3]: the offsets that the baseline tries
-- column relation varchar: the relation, or all
-- column corpus varchar: name of the corpus
-- column language varchar: its language; null where it is not known
-- column n bigint: dependents
-- column layer smallint: 1-based layer of the best head of the corpus
-- column head smallint: 1-based number of that head in its layer
-- column direction varchar: dependent_to_head or head_to_dependent
-- column accuracy double: share of the dependents whose head it finds, in [0, 1]
-- column low double: lower end of the 95 % Wilson interval of accuracy
-- column high double: upper end of the 95 % Wilson interval of accuracy
-- column offset integer: the best fixed offset in the corpus (the nearest, then the left one, of equals)
-- column offset_accuracy double: share of the dependents whose head is there, in [0, 1]
-- column common_layer smallint: 1-based layer of the head that is best over all the corpora
-- column common_head smallint: 1-based number of that head in its layer
-- column common_direction varchar: dependent_to_head or head_to_dependent
-- column common_accuracy double: share of the dependents whose head that one finds here, in [0, 1]
-- column run varchar: name of the run over the corpus
with

chosen_run as (
    select chosen.id
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

scored as (
    select
        hit.corpus,
        hit.language,
        hit.run,
        hit.relation,
        hit.layer,
        hit.head,
        hit.direction,
        hit.correct,
        hit.n,
        cast(hit.correct as double) / cast(hit.n as double) as accuracy
    from corpus_hit(run := $run, corpora := $corpora, subtypes := $subtypes) as hit
    where hit.n >= $min_count
        and ($relation is null or hit.relation = $relation)
),

best as (
    select
        scored.corpus,
        scored.language,
        scored.run,
        scored.relation,
        scored.layer,
        scored.head,
        scored.direction,
        scored.correct,
        scored.n,
        scored.accuracy
    from scored
    qualify row_number() over (
        partition by scored.corpus, scored.relation
        order by scored.correct desc, scored.layer, scored.head, scored.direction
    ) = 1
),

averaged as (
    select
        scored.relation,
        scored.layer,
        scored.head,
        scored.direction,
        avg(scored.accuracy) as accuracy
    from scored
    group by scored.relation, scored.layer, scored.head, scored.direction
),

common as (
    select averaged.relation, averaged.layer, averaged.head, averaged.direction
    from averaged
    qualify row_number() over (
        partition by averaged.relation
        order by
            round(averaged.accuracy, 12) desc,
            averaged.layer,
            averaged.head,
            averaged.direction
    ) = 1
),

-- Spark orders by no window function.
whole as (
    select best.relation, sum(best.n) as n
    from best
    group by best.relation
)

select
    best.relation,
    best.corpus,
    best.language,
    best.n,
    best.layer,
    best.head,
    best.direction,
    best.accuracy,
    wilson_low(best.correct, best.n) as low,
    wilson_high(best.correct, best.n) as high,
    baseline."offset",
    baseline.accuracy as offset_accuracy,
    common.layer as common_layer,
    common.head as common_head,
    common.direction as common_direction,
    scored.accuracy as common_accuracy,
    best.run
from best
inner join common on common.relation = best.relation
inner join whole on whole.relation = best.relation
inner join scored
    on scored.corpus = best.corpus
    and scored.relation = best.relation
    and scored.layer = common.layer
    and scored.head = common.head
    and scored.direction = common.direction
left join corpus_offset(
    run := $run, corpora := $corpora, subtypes := $subtypes, offsets := $offsets
) as baseline
    on baseline.corpus = best.corpus
    and baseline.relation = best.relation
where exists (select chosen_run.id from chosen_run)
order by
    whole.n desc,
    best.relation,
    best.corpus
