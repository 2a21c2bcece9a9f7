-- The heads that a tree of the ensemble reads, and their weights, which add up to 1: each relation counts as often as it
-- occurs, and its heads alike.
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
