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

hit as (
    select
        each.*,
        count(*) over (
            partition by each.run, each.relation, each.layer, each.head, each.direction
        ) as parts,
        sum(each.n) over (
            partition by each.run, each.relation, each.layer, each.head, each.direction
        ) as n_of_both,
        max(each.n) over (partition by each.run, each.relation, each.is_chosen_on) as n_of_part
    from pair_hit(
        runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved, choose := $choose,
        by_documents := true
    ) as each
)

select
    hit.run,
    hit.relation,
    hit.is_chosen_on,
    hit.layer,
    hit.head,
    hit.direction,
    hit.side,
    hit.correct,
    hit.n,
    hit.accuracy,
    hit.overall,
    hit.effective,
    hit.findable
from hit
where hit.parts = 2
    and hit.n_of_both >= $min_count
    and hit.n_of_part >= $min_count
