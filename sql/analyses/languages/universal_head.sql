-- title: Which heads find a relation in every corpus, also in corpora that they were not chosen on
-- paper: beside Clark et al. 2019, section 4.2, and Chi, Hewitt and Manning 2020 (multilingual BERT)
-- grain: one row per (layer, head, direction), the best first
-- formula: accuracy = mean over the corpora of accuracy_c, as in head_accuracy over the run of corpus c
-- formula: gain = mean over the corpora of accuracy_c − offset_accuracy_c, where the offset is the best of corpus c
-- formula: among_three = |{c : fewer than three heads and directions have a higher accuracy_c}|
-- formula: chosen(c) = argmax_{h, v} of the mean accuracy_d over corpora d ≠ c; chosen_by = |{c : chosen(c) = (h, v)}|
-- formula: held_out_accuracy = mean of accuracy_c over the corpora c with chosen(c) = (h, v)
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=accuracy panel=direction domain=0,1
-- empty: no corpus has min_count dependents of the relation
-- note: the runs are those of one model over every corpus of the bank with trees, as in relation_by_corpus. The corpora
--   count alike, however large they are; one with fewer than min_count dependents of the relation is left out.
-- note: of a causal model each direction is scored on the dependents that it can find (see gold_dependency), and the
--   heads are ranked, and chosen, by the share of all dependents that they find: accuracy times findable.
-- param relation varchar = null: a relation; by default all dependents
-- param corpora
-- param min_count integer = 10: leave out corpora with fewer dependents of the relation
-- param run, subtypes, offsets
-- column layer, head, direction
-- column corpora bigint: corpora that it is scored on
-- column accuracy double: mean over the corpora of its accuracy, in [0, 1]
-- column lowest double: its accuracy in the corpus where that is lowest
-- column gain double: mean over the corpora of its accuracy minus that of the corpus's best offset
-- column among_three bigint: corpora in which it is among the best three heads and directions
-- column chosen_by bigint: corpora for which the others chose it
-- column held_out_accuracy double: mean of its accuracy in those, on which it was not chosen; null where there is none
-- column findable double: mean over the corpora of the share of the dependents that the direction can find, and is
--   scored on: 1 unless the model is causal
-- column overall double: mean over all corpora of the share of all dependents that it finds, which ranks heads
-- column run varchar: name of the run that answered, of whose model the others are
with corpus_run as (
    select matching_run.*
    from corpus_run(run := $run, corpora := $corpora) as matching_run
),

corpus_hit as (
    select corpus_run.corpus, hit.*, rank() over (partition by hit.run order by hit.correct desc) as place
    from pair_hit(runs := (select list(id) from corpus_run), subtypes := $subtypes) as hit
    inner join corpus_run on corpus_run.id = hit.run
    where hit.n >= $min_count
        and hit.relation = coalesce($relation, 'all')
),

per_head as (
    select
        corpus_hit.layer, corpus_hit.head, corpus_hit.direction,
        count(*) as corpora,
        avg(corpus_hit.accuracy) as accuracy,
        sum(corpus_hit.overall) / (select count(distinct corpus) from corpus_hit as any_hit) as overall,
        avg(corpus_hit.findable) as findable,
        min(corpus_hit.accuracy) as lowest,
        avg(corpus_hit.accuracy - baseline.accuracy) as gain,
        count(*) filter (where corpus_hit.place <= 3) as among_three
    from corpus_hit
    left join best_offset(
        runs := (select list(id) from corpus_run), subtypes := $subtypes, offsets := $offsets
    ) as baseline using (run, relation, side)
    group by corpus_hit.layer, corpus_hit.head, corpus_hit.direction
),

-- For each corpus the head that is best on average over the others.
-- Rounded, since the same numbers summed in another order differ in their last bit, and ties go to the first head.
selected_head as (
    select held_out.corpus, candidate.layer, candidate.head, candidate.direction
    from (select distinct corpus from corpus_hit) as held_out
    inner join corpus_hit as candidate on candidate.corpus <> held_out.corpus
    group by held_out.corpus, candidate.layer, candidate.head, candidate.direction
    qualify row_number() over (
        partition by held_out.corpus
        order by round(sum(candidate.overall), 12) desc, candidate.layer, candidate.head, candidate.direction
    ) = 1
),

held_out as (
    select
        selected_head.layer, selected_head.head, selected_head.direction,
        count(*) as chosen_by,
        avg(corpus_hit.accuracy) as accuracy
    from selected_head
    left join corpus_hit using (corpus, layer, head, direction)
    group by all
)

select
    per_head.layer, per_head.head, per_head.direction, per_head.corpora, per_head.accuracy, per_head.lowest,
    per_head.gain, per_head.among_three,
    coalesce(held_out.chosen_by, 0) as chosen_by,
    held_out.accuracy as held_out_accuracy,
    per_head.findable, per_head.overall,
    (select name from chosen_run) as run
from per_head
left join held_out using (layer, head, direction)
order by round(per_head.overall, 12) desc, per_head.layer, per_head.head, per_head.direction
