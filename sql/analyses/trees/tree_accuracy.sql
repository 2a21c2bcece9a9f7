-- title: How many gold dependencies are in the trees that are decoded from each head
-- paper: Htut et al. 2019 (Do attention heads in BERT track syntactic dependencies?); Raganato and Tiedemann 2018;
--   beside Clark et al. 2019, section 5
-- grain: one row per (source, layer, head, direction), the best first
-- formula: uuas = |{(d, g) : the tree has d → g or g → d}| / |{(d, g)}|, over the gold dependencies between two words
-- formula: uas = |{(d, g) : the tree has g as the head of d}| / |{(d, g)}|
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is uuas, z = 1.96 and n the
--   effective number of independent dependencies (by documents)
-- run: unit=word needs=decoded_trees usual=sentence
-- plot: grid color=uuas panel=direction domain=0,1
-- empty: no tree was decoded in this way (attnbank compute attention_tree --root ROOT --decoder DECODER)
-- note: roots are left out, which uas would count if they were given. Punctuation is a word of the tree, and is not
--   scored unless punctuation := true.
-- note: of the direction both, and of causal models, arcs have no direction of their own: uas says how well they point
--   away from the root, and is worth little without root := 'gold'.
-- note: best_tree chooses on one half of the documents and scores on the other; here a row is scored on all, so that
--   the best of many rows is too good.
-- param root, decoder
-- param source varchar = 'head' {head, layer, all, ensemble}: whose attention; null for every one
-- param punctuation, run
-- column source varchar: whose attention it is: head, layer (mean), all (mean) or ensemble (tree_ensemble)
-- column layer, head
-- column direction varchar: dependent_to_head, head_to_dependent, both or later_to_earlier
-- column uuas double: share of the dependencies that the tree has in either direction, in [0, 1]
-- column low double: lower end of the 95 % interval of uuas; null, like high, where all are in one document
-- column high double: upper end of the 95 % interval of uuas
-- column found bigint: those that it has in either direction
-- column uas double: share of the dependencies that the tree has, in [0, 1]
-- column correct bigint: those that it has
-- column n bigint: gold dependencies between two words that a tree can have
-- column findable double: their share of all, in [0, 1]: 1 unless a first word is set apart, as in causal models
-- column adjacent double: share of the n that join neighbouring words
-- column gain double: uuas minus adjacent
-- column gain_low, gain_high, run
with coverage as (
    select share_of(is_findable) as findable
    from gold_tree_pair(
        runs := (select list(id) from chosen_run), punctuation := $punctuation, is_whole := true
    ) as gold
),

per_tree as (
    select
        source, layer, head, direction,
        sum(found) as found,
        sum(correct) as correct,
        sum(n) as n,
        clustered_n(found, n) as effective,
        sum(only_tree) as only_tree,
        sum(only_chain) as only_chain,
        clustered_pairs(only_tree, only_chain, n) as gain_effective
    from tree_hit(
        runs := (select list(id) from chosen_run), root := $root, decoder := $decoder, punctuation := $punctuation
    ) as hit
    where $source is null or source = $source
    group by all
)

select
    per_tree.source, per_tree.layer, per_tree.head, per_tree.direction,
    ratio(per_tree.found, per_tree.n) as uuas,
    wilson_low(ratio(per_tree.found, per_tree.n) * per_tree.effective, per_tree.effective) as low,
    wilson_high(ratio(per_tree.found, per_tree.n) * per_tree.effective, per_tree.effective) as high,
    cast(per_tree.found as bigint) as found,
    ratio(per_tree.correct, per_tree.n) as uas,
    cast(per_tree.correct as bigint) as correct,
    cast(per_tree.n as bigint) as n,
    coverage.findable,
    ratio(per_tree.found - per_tree.only_tree + per_tree.only_chain, per_tree.n) as adjacent,
    ratio(per_tree.only_tree - per_tree.only_chain, per_tree.n) as gain,
    paired_low(per_tree.only_tree, per_tree.only_chain, per_tree.n, per_tree.gain_effective) as gain_low,
    paired_high(per_tree.only_tree, per_tree.only_chain, per_tree.n, per_tree.gain_effective) as gain_high,
    (select name from chosen_run) as run
from per_tree
cross join coverage
order by per_tree.found desc, per_tree.source, per_tree.layer, per_tree.head, per_tree.direction
