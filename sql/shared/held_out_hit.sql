-- title: pair_hit on the part that heads are chosen on and on the other, without rare relations
-- grain: one row per (run, relation, part, layer, head, direction)
-- note: a relation needs min_count dependents in either part, in the direction that finds most. A direction needs them
--   in both together, as in best_head, and some in each: so that equal heads prefer the same direction.
-- param runs, subtypes, possessive, saved
-- param choose varchar = 'half' {half, train}: as in pair_hit
-- param min_count integer = 10: leave out relations with fewer dependents in either part
-- column run, relation, is_chosen_on, layer, head, direction, side, correct, n, accuracy, overall, effective, findable
--   of pair_hit
select run, relation, is_chosen_on, layer, head, direction, side, correct, n, accuracy, overall, effective, findable
from pair_hit(
    runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved, choose := $choose,
    by_documents := true
) as part_hit
qualify count(*) over (partition by run, relation, layer, head, direction) = 2
    and sum(n) over (partition by run, relation, layer, head, direction) >= $min_count
    and max(n) over (partition by run, relation, is_chosen_on) >= $min_count
