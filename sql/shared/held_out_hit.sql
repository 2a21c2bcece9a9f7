-- title: pair_hit on the part that heads are chosen on and on the other, without rare relations
-- grain: one row per (run, relation, part, layer, head, direction)
-- note: a relation needs min_count dependents in either part, in the direction that finds most. A direction needs them
--   in both together, as in best_head, and some in each: so that equal heads prefer the same direction.
-- param runs, subtypes, possessive, saved
-- param choose varchar = 'half' {half, train}: as in pair_hit
-- param min_count integer = 10: leave out relations with fewer dependents in either part
-- column run integer: run.id of the run
-- column relation, is_chosen_on, layer, head, direction, side, correct, n, accuracy, overall
-- column effective double: as in pair_hit
-- column findable
with

hit_with_counts as (
    select
        part_hit.*,
        count(*) over (partition by run, relation, layer, head, direction) as parts,
        sum(n) over (partition by run, relation, layer, head, direction) as n_of_both,
        max(n) over (partition by run, relation, is_chosen_on) as n_of_part
    from pair_hit(
        runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved, choose := $choose,
        by_documents := true
    ) as part_hit
)

select run, relation, is_chosen_on, layer, head, direction, side, correct, n, accuracy, overall, effective, findable
from hit_with_counts
where parts = 2
    and n_of_both >= $min_count
    and n_of_part >= $min_count
