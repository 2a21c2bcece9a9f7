-- title: How many gold dependencies the decoded trees of some runs have, by documents
-- grain: one row per (run, source, layer, head, direction, cluster, class)
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
-- column cluster bigint: its document, or its sentence where the source marks none or the run reads one, modulo 100
-- column class varchar: its relation, or the range of the length of its sentence in words; all without a classification
-- column n bigint: dependencies
-- column correct bigint: those of which the tree has the arc
-- column found bigint: those of which it has the arc or the reverse
-- column only_tree bigint: those of which it has either, and which do not join neighbouring words
-- column only_chain bigint: those that join neighbouring words, and of which it has neither
select
    outcome.run,
    outcome.source,
    outcome.layer,
    outcome.head,
    outcome.direction,
    outcome.cluster,
    outcome.class,
    count(*) as n,
    sum(outcome.correct) as correct,
    sum(outcome.found) as found,
    sum(outcome.found * (1 - outcome.adjacent)) as only_tree,
    sum((1 - outcome.found) * outcome.adjacent) as only_chain
from tree_outcome(
    runs := $runs, root := $root, decoder := $decoder, punctuation := $punctuation, classification := $classification,
    within := $within
) as outcome
group by
    outcome.run, outcome.source, outcome.layer, outcome.head, outcome.direction, outcome.cluster, outcome.class
