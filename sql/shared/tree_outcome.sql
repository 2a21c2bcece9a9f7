-- title: Which gold dependencies the decoded trees of some runs have
-- grain: one row per (run, source, layer, head, direction, dependent)
-- param runs
-- param root varchar = 'none' {none, gold}: what the trees know of the root
-- param decoder varchar = 'spanning' {spanning, projective}: the trees that were decoded with it
-- param within integer[] = []: run.id of runs whose trees must be able to have the dependencies, too
-- param punctuation boolean = false: keep dependencies of which either word is punctuation
-- param classification varchar = null {relation, length}: how they are classed; null for one class, all
-- column run integer: run.id of the run
-- column source varchar: whose attention it is: head, layer, all or ensemble
-- column layer, head
-- column direction varchar: dependent_to_head, head_to_dependent, both or later_to_earlier
-- column dependent
-- column cluster bigint: its document, or its sentence where the source marks none or the run reads one, modulo 100
-- column class varchar: its relation, or the range of the length of its sentence in words; all without a classification
-- column correct integer: 1 if the tree has the arc, else 0
-- column found integer: 1 if it has the arc or the reverse, else 0
-- column adjacent integer: 1 if the two are neighbouring words, else 0
select
    tree.run,
    tree.source,
    tree.layer,
    tree.head,
    tree.direction,
    gold.dependent,
    gold.cluster,
    gold.class,
    case
        when list_extract(tree.heads, gold.position - tree.first_position + 1) = gold.head_position then 1
        else 0
    end as correct,
    case
        when list_extract(tree.heads, gold.position - tree.first_position + 1) = gold.head_position
            or list_extract(tree.heads, gold.head_position - tree.first_position + 1) = gold.position then 1
        else 0
    end as found,
    case when abs(gold.position - gold.head_position) = 1 then 1 else 0 end as adjacent
from tree_gold(runs := $runs, punctuation := $punctuation, classification := $classification, within := $within) as gold
inner join attention_tree as tree
    on tree.run = gold.run
    and tree.sequence = gold.sequence
    and tree.sentence = gold.sentence
where tree.root = $root
    and tree.decoder = $decoder
