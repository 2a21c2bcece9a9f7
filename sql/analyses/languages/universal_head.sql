-- title: Which heads find a relation in every corpus, and in those that had no say in the choice
-- paper: beside Clark et al. 2019, section 4.2, and Chi, Hewitt and Manning 2020 (multilingual BERT)
-- grain: one row per (layer, head, direction), the best first
-- formula: accuracy = mean over the corpora of accuracy_c, as in head_accuracy over the run of corpus c
-- formula: gain = mean over the corpora of accuracy_c − offset_accuracy_c, where the offset is the best of corpus c
-- formula: among_three = |{c : fewer than three heads and directions have a higher accuracy_c}|
-- formula: chosen(c) = argmax_{h, v} of the mean of accuracy_d over the corpora d ≠ c; chosen_by = |{c : chosen(c) = (h, v)}|
-- formula: held_out_accuracy = mean of accuracy_c over the corpora c with chosen(c) = (h, v)
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=accuracy panel=direction domain=0,1
-- empty: no corpus has min_count dependents of the relation
-- note: the runs are those of one model over every corpus of the bank with trees, as in relation_by_corpus. The corpora
--   count alike, however large they are; one with fewer than min_count dependents of the relation is left out.
-- note: held_out_accuracy is what a head is worth in a language that did not choose it: each corpus is left out once,
--   and the head that is best over the others is judged on it. Null for a head that no such choice falls on, and where
--   there is one corpus only.
-- param relation varchar = null: a relation; by default all dependents
-- param corpora varchar[] = null: names of the corpora; by default all over which the model was run
-- param min_count integer = 10: leave out corpora with fewer dependents of the relation
-- param run varchar = null: name or id of a run of the model; by default the bank's own choice, else the newest
--   finished one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param offsets integer[] = [-3, -2, -1, 1, 2, 3]: the offsets that the baseline tries
-- column layer smallint: 1-based layer
-- column head smallint: 1-based number of the head in its layer
-- column direction varchar: dependent_to_head or head_to_dependent
-- column corpora bigint: corpora that it is judged on
-- column accuracy double: mean over the corpora of its accuracy, in [0, 1]
-- column lowest double: its accuracy in the corpus where that is lowest
-- column gain double: mean over the corpora of its accuracy minus that of the corpus's best offset
-- column among_three bigint: corpora in which it is among the best three heads and directions
-- column chosen_by bigint: corpora for which the others chose it
-- column held_out_accuracy double: mean of its accuracy in those; null where there is none
-- column run varchar: name of the run that answered, of whose model the others are
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

scored as (
    select
        hit.corpus,
        hit.layer,
        hit.head,
        hit.direction,
        cast(hit.correct as double) / cast(hit.n as double) as accuracy,
        rank() over (partition by hit.corpus order by hit.correct desc) as place
    from corpus_hit(run := $run, corpora := $corpora, subtypes := $subtypes) as hit
    where hit.n >= $min_count
        and hit.relation = coalesce($relation, 'all')
),

against_offset as (
    select
        scored.corpus,
        scored.layer,
        scored.head,
        scored.direction,
        scored.accuracy,
        scored.place,
        scored.accuracy - baseline.accuracy as gain
    from scored
    left join corpus_offset(
        run := $run, corpora := $corpora, subtypes := $subtypes, offsets := $offsets
    ) as baseline
        on baseline.corpus = scored.corpus
        and baseline.relation = coalesce($relation, 'all')
),

averaged as (
    select
        against_offset.layer,
        against_offset.head,
        against_offset.direction,
        count(*) as corpora,
        avg(against_offset.accuracy) as accuracy,
        min(against_offset.accuracy) as lowest,
        avg(against_offset.gain) as gain,
        count(*) filter (where against_offset.place <= 3) as among_three
    from against_offset
    group by against_offset.layer, against_offset.head, against_offset.direction
),

elsewhere as (
    select
        held_out.corpus,
        chooser.layer,
        chooser.head,
        chooser.direction,
        avg(chooser.accuracy) as accuracy
    from (select distinct scored.corpus from scored) as held_out
    inner join scored as chooser on chooser.corpus <> held_out.corpus
    group by held_out.corpus, chooser.layer, chooser.head, chooser.direction
),

chosen as (
    select elsewhere.corpus, elsewhere.layer, elsewhere.head, elsewhere.direction
    from elsewhere
    qualify row_number() over (
        partition by elsewhere.corpus
        order by
            round(elsewhere.accuracy, 12) desc,
            elsewhere.layer,
            elsewhere.head,
            elsewhere.direction
    ) = 1
),

held_out as (
    select
        chosen.layer,
        chosen.head,
        chosen.direction,
        count(*) as chosen_by,
        avg(scored.accuracy) as accuracy
    from chosen
    inner join scored
        on scored.corpus = chosen.corpus
        and scored.layer = chosen.layer
        and scored.head = chosen.head
        and scored.direction = chosen.direction
    group by chosen.layer, chosen.head, chosen.direction
)

select
    averaged.layer,
    averaged.head,
    averaged.direction,
    averaged.corpora,
    averaged.accuracy,
    averaged.lowest,
    averaged.gain,
    averaged.among_three,
    coalesce(held_out.chosen_by, 0) as chosen_by,
    held_out.accuracy as held_out_accuracy,
    (select chosen_run.name from chosen_run) as run
from averaged
left join held_out
    on held_out.layer = averaged.layer
    and held_out.head = averaged.head
    and held_out.direction = averaged.direction
order by
    round(averaged.accuracy, 12) desc,
    averaged.layer,
    averaged.head,
    averaged.direction
