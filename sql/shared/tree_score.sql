-- title: How many gold dependencies the decoded trees of some runs have, beside adjacent words
-- grain: one row per (run, source, layer, head, direction)
-- param runs, root, decoder, punctuation
-- column run, source, layer, head, direction of tree_hit
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
-- column gain_low, gain_high
with per_tree as (
    select
        run, source, layer, head, direction,
        cast(sum(found) as bigint) as found,
        cast(sum(correct) as bigint) as correct,
        cast(sum(n) as bigint) as n,
        clustered_n(found, n) as effective,
        sum(only_tree) as only_tree,
        sum(only_chain) as only_chain,
        clustered_pairs(only_tree, only_chain, n) as gain_effective
    from tree_hit(runs := $runs, root := $root, decoder := $decoder, punctuation := $punctuation) as hit
    group by all
),

coverage as (
    select run, share_of(is_findable) as findable
    from gold_tree_pair(runs := $runs, punctuation := $punctuation, is_whole := true) as gold
    group by all
)

select
    per_tree.run, per_tree.source, per_tree.layer, per_tree.head, per_tree.direction,
    ratio(per_tree.found, per_tree.n) as uuas,
    wilson_low(ratio(per_tree.found, per_tree.n) * per_tree.effective, per_tree.effective) as low,
    wilson_high(ratio(per_tree.found, per_tree.n) * per_tree.effective, per_tree.effective) as high,
    per_tree.found,
    ratio(per_tree.correct, per_tree.n) as uas,
    per_tree.correct, per_tree.n, coverage.findable,
    ratio(per_tree.found - per_tree.only_tree + per_tree.only_chain, per_tree.n) as adjacent,
    ratio(per_tree.only_tree - per_tree.only_chain, per_tree.n) as gain,
    paired_low(per_tree.only_tree, per_tree.only_chain, per_tree.n, per_tree.gain_effective) as gain_low,
    paired_high(per_tree.only_tree, per_tree.only_chain, per_tree.n, per_tree.gain_effective) as gain_high
from per_tree
inner join coverage using (run)
