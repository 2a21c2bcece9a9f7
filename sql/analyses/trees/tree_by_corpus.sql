-- title: How many gold dependencies the trees of one head have in each corpus, chosen on it or on the others
-- paper: beside Htut et al. 2019, and Chi, Hewitt and Manning 2020 (multilingual BERT)
-- grain: one row per corpus
-- formula: uuas = |{(d, g) : the tree has d → g or g → d}| / |{(d, g)}|, over the gold dependencies between two words
-- formula: best_c = argmax_{h, v} uuas_c(h, v); chosen_c = argmax_{h, v} of the mean of uuas_e over corpora e ≠ c
-- formula: low, high as in tree_accuracy
-- run: unit=word needs=decoded_trees usual=sentence
-- plot: bars x=uuas y=corpus low=low high=high beside=best_uuas,ensemble_uuas,adjacent label=layer,head aside=n
--   domain=0,1
-- empty: fewer than two corpora have trees that were decoded in this way (attnbank compute attention_tree --run RUN)
-- note: the runs are those of one model over every corpus of the bank with trees, as in relation_by_corpus; those whose
--   trees were decoded count. The corpora count alike, however large they are.
-- note: uuas is that of a head which was chosen on the other corpora; best_uuas is of the head that is best on the
--   words that it is scored on.
-- param root, decoder, punctuation, corpora, run
-- column corpus, language
-- column n, findable, layer, head of tree_score
-- column direction varchar: of the head that is best over the other corpora: dependent_to_head, head_to_dependent, both
--   or later_to_earlier
-- column uuas double: share of the dependencies that its trees have here in either direction, in [0, 1]
-- column low, high of tree_score
-- column uas double: share that they have
-- column best_layer smallint: 1-based layer of the head that is best here
-- column best_head smallint: 1-based number of that head in its layer
-- column best_direction varchar: its direction
-- column best_uuas double: its share
-- column ensemble_uuas double: share of the ensemble's trees, whose heads half of the documents chose; null without one
-- column adjacent, gain, gain_low, gain_high of tree_score
-- column run varchar: name of the run over the corpus
with corpus_run as materialized (
    select matching_run.*
    from corpus_run(run := (select name from chosen_run), corpora := $corpora) as matching_run
),

tree_of_corpus as materialized (
    select tree.*
    from tree_score(
        runs := (select list(id) from corpus_run), root := $root, decoder := $decoder, punctuation := $punctuation
    ) as tree
    where source in ('head', 'ensemble')
),

head_tree as (
    select tree_of_corpus.*
    from tree_of_corpus
    where source = 'head'
),

best as (
    select head_tree.*
    from head_tree
    qualify row_number() over (partition by run order by found desc, layer, head, direction) = 1
),

-- For each corpus the head that is best on average over the others.
-- Rounded, since the same numbers summed in another order differ in their last bit, and ties go to the first head.
selected_head as (
    select held_out.run, candidate.layer, candidate.head, candidate.direction
    from best as held_out
    inner join head_tree as candidate on candidate.run <> held_out.run
    group by held_out.run, candidate.layer, candidate.head, candidate.direction
    qualify row_number() over (
        partition by held_out.run
        order by round(sum(candidate.uuas), 12) desc, candidate.layer, candidate.head, candidate.direction
    ) = 1
)

select
    corpus_run.corpus, corpus_run.language, head_tree.n, head_tree.findable, selected_head.layer, selected_head.head,
    selected_head.direction, head_tree.uuas, head_tree.low, head_tree.high, head_tree.uas,
    best.layer as best_layer,
    best.head as best_head,
    best.direction as best_direction,
    best.uuas as best_uuas,
    ensemble.uuas as ensemble_uuas,
    head_tree.adjacent, head_tree.gain, head_tree.gain_low, head_tree.gain_high,
    corpus_run.name as run
from selected_head
inner join corpus_run on corpus_run.id = selected_head.run
inner join head_tree using (run, layer, head, direction)
inner join best using (run)
left join tree_of_corpus as ensemble
    on ensemble.run = selected_head.run
    and ensemble.source = 'ensemble'
order by corpus_run.corpus
