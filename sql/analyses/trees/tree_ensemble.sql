-- title: The heads that together find each relation best, chosen on one half of the documents
-- paper: Limisiewicz, Mareček and Rosa 2020 (Universal dependencies according to BERT), section 3
-- grain: one row per (relation, direction, rank)
-- formula: heads_1 = argmax_h accuracy(h); heads_k = argmax_h accuracy(mean of heads_1 … heads_{k−1}, h) over the heads
--   that are not among these, as long as it grows
-- run: unit=word needs=ensembles usual=sentence
-- plot: grid x=rank y=relation color=accuracy label=layer,head panel=direction domain=0,1
-- caption rank: Heads, the best alone first
-- empty: no relation has heads (attnbank compute tree_ensemble)
-- note: accuracy is on the dependents that the heads were chosen on (at most 1,000 sentences of every second document),
--   so it is too high. best_tree scores the trees of the ensemble on the other half.
-- note: a relation counts its dependents on both sides; of a causal model dependent_to_head finds those to the right of
--   their heads only.
-- note: for a tree each relation takes the direction that finds more of it (in_tree). The maps of its heads are
--   averaged, and these means over the relations, each as often as it occurs. The paper averages both directions.
-- param relation, run
-- column relation
-- column direction varchar: dependent_to_head or head_to_dependent
-- column rank smallint: 1 for the head that finds most alone; each further one adds most
-- column layer, head
-- column accuracy double: share of the dependents whose head the heads up to this rank find together, in [0, 1]
-- column correct bigint: those
-- column n bigint: dependents that the heads were chosen on
-- column in_tree boolean: whether the tree of the ensemble reads them
-- column run
select
    ensemble.relation, ensemble.direction, ensemble.rank, ensemble.layer, ensemble.head,
    ratio(ensemble.correct, ensemble.n) as accuracy,
    ensemble.correct, ensemble.n, ensemble.in_tree,
    chosen_run.name as run
from tree_ensemble as ensemble
inner join chosen_run on chosen_run.id = ensemble.run
where $relation is null or ensemble.relation = $relation
order by ensemble.n desc, ensemble.relation, ensemble.direction, ensemble.rank
