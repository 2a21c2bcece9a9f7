-- title: The best head for each relation in each corpus, compared with the head that is best over all of them
-- paper: beside Clark et al. 2019, section 4.2, and Chi, Hewitt and Manning 2020 (multilingual BERT)
-- grain: one row per (relation, corpus)
-- formula: (head, direction)*_c(r) = argmax_{h, v} accuracy_c(r, h, v), as in head_accuracy over the run of corpus c
-- formula: common(r) = argmax_{h, v} of the mean over the corpora of overall_c(r, h, v), which is accuracy_c(r, h, v)
--   unless the model is causal
-- formula: low, high as in best_head, by documents
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=accuracy y=corpus low=low high=high beside=common_accuracy label=layer,head panel=relation aside=n
--   domain=0,1
-- empty: no relation has min_count dependents in a corpus (--min-count 1 shows them all)
-- note: the runs are those of one model over every corpus of the bank with trees: the run that answers, and of each
--   other corpus the newest with its context, unit and way to merge pieces. The model must have read them all.
-- note: the corpora count alike, however large they are. A corpus with fewer than min_count dependents of a relation
--   has no row for it, and does not count in the choice of its common head.
-- note: each best head is chosen on the words that it is scored on; universal_head scores heads on other corpora.
-- note: of a causal model each direction is scored on the dependents that it can find (see gold_dependency). The common
--   head is the one that finds the largest share of all dependents, in the mean.
-- param relation, corpora
-- param min_count integer = 10: leave out relations with fewer dependents in a corpus
-- param run, subtypes, offsets
-- column relation, corpus, language, n, layer, head, direction, accuracy, low, high, offset, offset_accuracy
-- column common_layer smallint: 1-based layer of the head that is best over all the corpora
-- column common_head smallint: 1-based number of that head in its layer
-- column common_direction varchar: dependent_to_head, head_to_dependent or later_to_earlier
-- column common_accuracy double: share of the dependents whose head that one finds here, in [0, 1]; null where its
--   direction has fewer than min_count
-- column findable, overall
-- column run varchar: name of the run over the corpus
with corpus_run as (
    select matching_run.*
    from corpus_run(run := $run, corpora := $corpora) as matching_run
),

corpus_hit as (
    select corpus_run.corpus, corpus_run.language, corpus_run.name as run_name, hit.*
    from pair_hit(runs := (select list(id) from corpus_run), subtypes := $subtypes, by_documents := true) as hit
    inner join corpus_run on corpus_run.id = hit.run
    where hit.n >= $min_count
        and ($relation is null or hit.relation = $relation)
),

best as (
    select corpus_hit.*
    from corpus_hit
    qualify row_number() over (partition by corpus, relation order by correct desc, layer, head, direction) = 1
),

-- Rounded, since the same numbers summed in another order differ in their last bit, and ties go to the first head.
common as (
    select relation, layer, head, direction
    from corpus_hit
    group by relation, layer, head, direction
    qualify row_number() over (partition by relation order by round(sum(overall), 12) desc, layer, head, direction) = 1
),

-- Spark orders by no window function.
relation_size as (
    select relation, sum(n) as n
    from best
    group by all
)

select
    best.relation, best.corpus, best.language, best.n, best.layer, best.head, best.direction, best.accuracy,
    wilson_low(best.accuracy * best.effective, best.effective) as low,
    wilson_high(best.accuracy * best.effective, best.effective) as high,
    baseline."offset",
    baseline.accuracy as offset_accuracy,
    common.layer as common_layer,
    common.head as common_head,
    common.direction as common_direction,
    corpus_hit.accuracy as common_accuracy,
    best.findable, best.overall,
    best.run_name as run
from best
inner join common using (relation)
inner join relation_size using (relation)
left join best_offset(runs := (select list(id) from corpus_run), subtypes := $subtypes, offsets := $offsets) as baseline
    using (run, relation, side)
left join corpus_hit
    on corpus_hit.corpus = best.corpus
    and corpus_hit.relation = best.relation
    and corpus_hit.layer = common.layer
    and corpus_hit.head = common.head
    and corpus_hit.direction = common.direction
where exists (select id from chosen_run)
order by relation_size.n desc, best.relation, best.corpus
