-- The heads of the trees of the ensemble, with weights that sum to 1: each relation weighs as much as it is frequent,
-- and its heads equally.
select
    ensemble.direction,
    ensemble.layer,
    ensemble.head,
    ratio(ensemble.n, count(*) over (partition by ensemble.relation))
    / sum(ratio(ensemble.n, 1)) filter (where ensemble.rank = 1) over () as weight
from tree_ensemble as ensemble
where ensemble.run = $run
    and ensemble.in_tree
order by ensemble.relation, ensemble.rank
