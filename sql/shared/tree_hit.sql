-- title: How many gold dependencies the decoded trees of some runs have, by documents
-- grain: one row per (run, source, layer, head, direction, cluster, class)
-- param runs, root, decoder
-- param within, punctuation, classification of gold_tree_pair
-- column run integer: run.id of the run
-- column source varchar: whose attention it is: head, layer (mean), all (mean) or ensemble (tree_ensemble)
-- column layer, head
-- column direction varchar: dependent_to_head, head_to_dependent, both or later_to_earlier
-- column cluster, class of gold_tree_pair
-- column n bigint: dependencies
-- column correct bigint: those of which the tree has the arc
-- column found bigint: those of which it has the arc or the reverse
-- column only_tree bigint: those of which it has either, and which do not join neighbouring words
-- column only_chain bigint: those that join neighbouring words, and of which it has neither
with tree_dependency as (
    select
        tree.run, tree.source, tree.layer, tree.head, tree.direction, gold.cluster, gold.class,
        has_arc(tree.heads, tree.first_position, gold.position, gold.head_position) as correct,
        has_edge(tree.heads, tree.first_position, gold.position, gold.head_position) as found,
        case when abs(gold.position - gold.head_position) = 1 then 1 else 0 end as adjacent
    from gold_tree_pair(
        runs := $runs, punctuation := $punctuation, classification := $classification, within := $within
    ) as gold
    inner join attention_tree as tree using (run, sequence, sentence)
    where tree.root = $root
        and tree.decoder = $decoder
)

select
    run, source, layer, head, direction, cluster, class,
    count(*) as n,
    sum(correct) as correct,
    sum(found) as found,
    sum(found * (1 - adjacent)) as only_tree,
    sum((1 - found) * adjacent) as only_chain
from tree_dependency
group by all
