-- The heads of the trees of the ensemble, with weights that sum to 1: each relation weighs as much as it is frequent,
-- and its heads equally.
select
    direction, layer, head,
    ratio(n, count(*) over (partition by relation))
    / sum(ratio(n, 1)) filter (where rank = 1) over () as weight
from tree_ensemble as ensemble
where run = $run
    and in_tree
order by relation, rank
