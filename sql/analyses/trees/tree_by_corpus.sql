-- title: How many gold dependencies the trees of one head have in each corpus, chosen on it or on the others
-- paper: beside Htut et al. 2019, and Chi, Hewitt and Manning 2020 (multilingual BERT)
-- grain: one row per corpus
-- formula: uuas = |{(d, g) : the tree has d → g or g → d}| / |{(d, g)}|, over the gold dependencies between two words
-- formula: best_c = argmax_{h, v} uuas_c(h, v); chosen_c = argmax_{h, v} of the mean of uuas_e over corpora e ≠ c
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is uuas, z = 1.96 and n the
--   effective number of independent dependencies (by documents)
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
-- column n bigint: gold dependencies between two words that a tree can have
-- column findable double: their share of all, in [0, 1]: 1 unless a first word is set apart, as in causal models
-- column layer, head
-- column direction varchar: of the head that is best over the other corpora: dependent_to_head, head_to_dependent, both
--   or later_to_earlier
-- column uuas double: share of the dependencies that its trees have here in either direction, in [0, 1]
-- column low double: lower end of the 95 % interval of uuas; null, like high, where all are in one document
-- column high double: upper end of the 95 % interval of uuas
-- column uas double: share that they have
-- column best_layer smallint: 1-based layer of the head that is best here
-- column best_head smallint: 1-based number of that head in its layer
-- column best_direction varchar: its direction
-- column best_uuas double: its share
-- column ensemble_uuas double: share of the ensemble's trees, whose heads half of the documents chose; null without one
-- column adjacent double: share of the dependencies that join neighbouring words
-- column gain double: uuas minus adjacent
-- column gain_low, gain_high
-- column run varchar: name of the run over the corpus
with corpus_run as materialized (
    select matching_run.*
    from corpus_run(run := (select name from chosen_run), corpora := $corpora) as matching_run
),

per_tree as materialized (
    select
        run, source, layer, head, direction,
        sum(n) as n,
        sum(found) as found,
        ratio(sum(found), sum(n)) as uuas,
        ratio(sum(correct), sum(n)) as uas,
        clustered_n(found, n) as effective,
        sum(only_tree) as only_tree,
        sum(only_chain) as only_chain,
        clustered_pairs(only_tree, only_chain, n) as gain_effective
    from tree_hit(
        runs := (select list(id) from corpus_run), root := $root, decoder := $decoder, punctuation := $punctuation
    ) as hit
    where source in ('head', 'ensemble')
    group by all
),

head_tree as (
    select per_tree.*
    from per_tree
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
),

coverage as (
    select run, share_of(is_findable) as findable
    from gold_tree_pair(
        runs := (select list(id) from corpus_run), punctuation := $punctuation, is_whole := true
    ) as gold
    group by all
)

select
    corpus_run.corpus, corpus_run.language,
    cast(head_tree.n as bigint) as n,
    coverage.findable, selected_head.layer, selected_head.head, selected_head.direction, head_tree.uuas,
    wilson_low(head_tree.uuas * head_tree.effective, head_tree.effective) as low,
    wilson_high(head_tree.uuas * head_tree.effective, head_tree.effective) as high,
    head_tree.uas,
    best.layer as best_layer,
    best.head as best_head,
    best.direction as best_direction,
    best.uuas as best_uuas,
    ensemble.uuas as ensemble_uuas,
    ratio(head_tree.found - head_tree.only_tree + head_tree.only_chain, head_tree.n) as adjacent,
    ratio(head_tree.only_tree - head_tree.only_chain, head_tree.n) as gain,
    paired_low(head_tree.only_tree, head_tree.only_chain, head_tree.n, head_tree.gain_effective) as gain_low,
    paired_high(head_tree.only_tree, head_tree.only_chain, head_tree.n, head_tree.gain_effective) as gain_high,
    corpus_run.name as run
from selected_head
inner join corpus_run on corpus_run.id = selected_head.run
inner join head_tree using (run, layer, head, direction)
inner join best using (run)
inner join coverage using (run)
left join per_tree as ensemble
    on ensemble.run = selected_head.run
    and ensemble.source = 'ensemble'
order by corpus_run.corpus
