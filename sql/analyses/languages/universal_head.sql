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
-- note: of a causal model each direction is judged on the dependents that it can find (see gold_dependency), and the heads
--   are ranked, and chosen, by the share of all dependents that they find: accuracy times findable.
-- param relation varchar = null: a relation; by default all dependents
-- param corpora
-- param min_count integer = 10: leave out corpora with fewer dependents of the relation
-- param run, subtypes, offsets
-- column layer, head, direction
-- column corpora bigint: corpora that it is judged on
-- column accuracy double: mean over the corpora of its accuracy, in [0, 1]
-- column lowest double: its accuracy in the corpus where that is lowest
-- column gain double: mean over the corpora of its accuracy minus that of the corpus's best offset
-- column among_three bigint: corpora in which it is among the best three heads and directions
-- column chosen_by bigint: corpora for which the others chose it
-- column held_out_accuracy double: mean of its accuracy in those; null where there is none
-- column findable double: mean over the corpora of the share of the dependents that the direction can find, and is judged
--   on: 1 unless the model is causal
-- column overall double: mean over all the corpora of the share of all dependents that it finds, by which heads are ranked
-- column run varchar: name of the run that answered, of whose model the others are
with

corpus_run as (
    select each.*
    from corpus_run(run := $run, corpora := $corpora) as each
),

scored as (
    select corpus_run.corpus, hit.*, rank() over (partition by hit.run order by hit.correct desc) as place
    from pair_hit(runs := (select list(corpus_run.id) from corpus_run), subtypes := $subtypes) as hit
    inner join corpus_run on corpus_run.id = hit.run
    where hit.n >= $min_count
        and hit.relation = coalesce($relation, 'all')
),

averaged as (
    select
        scored.layer,
        scored.head,
        scored.direction,
        count(*) as corpora,
        avg(scored.accuracy) as accuracy,
        sum(scored.overall) / (select count(distinct each.corpus) from scored as each) as overall,
        avg(scored.findable) as findable,
        min(scored.accuracy) as lowest,
        avg(scored.accuracy - baseline.accuracy) as gain,
        count(*) filter (where scored.place <= 3) as among_three
    from scored
    left join best_offset(
        runs := (select list(corpus_run.id) from corpus_run), subtypes := $subtypes, offsets := $offsets
    ) as baseline
        on baseline.run = scored.run
        and baseline.relation = scored.relation
        and baseline.side = scored.side
    group by scored.layer, scored.head, scored.direction
),

chosen as (
    select held_out.corpus, chooser.layer, chooser.head, chooser.direction
    from (select distinct scored.corpus from scored) as held_out
    inner join scored as chooser on chooser.corpus <> held_out.corpus
    group by held_out.corpus, chooser.layer, chooser.head, chooser.direction
    qualify row_number() over (
        partition by held_out.corpus
        order by
            round(sum(chooser.overall), 12) desc, chooser.layer, chooser.head, chooser.direction
    ) = 1
),

held_out as (
    select chosen.layer, chosen.head, chosen.direction, count(*) as chosen_by, avg(scored.accuracy) as accuracy
    from chosen
    left join scored
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
    averaged.findable,
    averaged.overall,
    (select chosen_run.name from chosen_run) as run
from averaged
left join held_out
    on held_out.layer = averaged.layer
    and held_out.head = averaged.head
    and held_out.direction = averaged.direction
order by round(averaged.overall, 12) desc, averaged.layer, averaged.head, averaged.direction
