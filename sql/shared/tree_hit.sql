-- title: How many gold dependencies the decoded trees of some runs have, by documents
-- grain: one row per (run, source, layer, head, direction, cluster, class)
-- param runs, root, decoder
-- param within integer[] = []: run.id of runs whose trees must be able to have the dependencies, too
-- param punctuation boolean = false: keep dependencies of which either word is punctuation
-- param classification varchar = null {relation, length}: how they are classed; null for one class, all
-- column run integer: run.id of the run
-- column source varchar: whose attention it is: head, layer, all or ensemble
-- column layer, head
-- column direction varchar: dependent_to_head, head_to_dependent, both or later_to_earlier
-- column cluster bigint: its document, or sentence if the source marks no documents or the run has only one, modulo 100
-- column class varchar: its relation, or the range of the length of its sentence in words; all without a classification
-- column n bigint: dependencies
-- column correct bigint: those of which the tree has the arc
-- column found bigint: those of which it has the arc or the reverse
-- column only_tree bigint: those of which it has either, and which do not join neighbouring words
-- column only_chain bigint: those that join neighbouring words, and of which it has neither
select
    tree.run, tree.source, tree.layer, tree.head, tree.direction, gold.cluster, gold.class,
    count(*) as n,
    sum(has_arc(tree.heads, tree.first_position, gold.position, gold.head_position)) as correct,
    sum(has_edge(tree.heads, tree.first_position, gold.position, gold.head_position)) as found,
    sum(
        case
            when abs(gold.position - gold.head_position) = 1 then 0
            else has_edge(tree.heads, tree.first_position, gold.position, gold.head_position)
        end
    ) as only_tree,
    sum(
        case
            when abs(gold.position - gold.head_position) = 1
                then 1 - has_edge(tree.heads, tree.first_position, gold.position, gold.head_position)
            else 0
        end
    ) as only_chain
from gold_tree_pair(
    runs := $runs, punctuation := $punctuation, classification := $classification, within := $within
) as gold
inner join attention_tree as tree using (run, sequence, sentence)
where tree.root = $root
    and tree.decoder = $decoder
group by all
