-- title: pair_hit on the part that heads are chosen on and on the other, without what is too rare to choose by
-- grain: one row per (run, relation, part, layer, head, direction)
-- note: a relation needs min_count dependents in either part, in the direction that finds most of them. A direction
--   needs them in both together, as in best_head, and some in each: so that of equal heads the same direction is
--   preferred.
-- param runs, subtypes, possessive, saved
-- param choose varchar = 'half' {half, train}: as in pair_hit
-- param min_count integer = 10: leave out relations with fewer dependents in either part
-- column run integer: run.id of the run
-- column relation
-- column is_chosen_on boolean: whether the part is the one to choose heads on
-- column layer, head, direction, side, correct, n, accuracy, overall
-- column effective double: as in pair_hit
-- column findable
with

in_both as (
    select
        counted.*,
        count(*) over (
            partition by counted.run, counted.relation, counted.layer, counted.head, counted.direction
        ) as parts,
        sum(counted.n) over (
            partition by counted.run, counted.relation, counted.layer, counted.head, counted.direction
        ) as n_of_both,
        max(counted.n) over (partition by counted.run, counted.relation, counted.is_chosen_on) as n_of_part
    from pair_hit(
        runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved, choose := $choose,
        by_documents := true
    ) as counted
)

select
    in_both.run,
    in_both.relation,
    in_both.is_chosen_on,
    in_both.layer,
    in_both.head,
    in_both.direction,
    in_both.side,
    in_both.correct,
    in_both.n,
    in_both.accuracy,
    in_both.overall,
    in_both.effective,
    in_both.findable
from in_both
where in_both.parts = 2
    and in_both.n_of_both >= $min_count
    and in_both.n_of_part >= $min_count
