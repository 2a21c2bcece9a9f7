-- title: The relation that each head finds best, by how far it is above the best fixed offset
-- paper: Clark et al. 2019, section 4.2: table 1 the other way round, by head
-- grain: one row per head, or per (layer, head, rank) with most
-- formula: gain(h, v, r) = accuracy(h, v, r) − max_k offset_accuracy(k, r), as in best_head, where h is a head and v a direction
-- formula: relation*(h) = argmax_{r, v} gain(h, v, r), of relations with min_count dependents or more
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=gain text=relation
-- empty: no relation has min_count dependents (--min-count 1 shows them all)
-- note: a gain of 0 or less: no relation is found better than by a fixed offset.
-- note: of many relations and two directions one is above its offset by chance. What chance alone gives is what the
--   heads of a random control get (--random-weights); best_head_held_out says how good the best heads are on words that
--   did not choose them.
-- note: offset is a word of SQL: write "offset", or qualify it.
-- param most integer = 1: so many relations of each head, the best first
-- param min_count, run, subtypes, possessive, offsets, clamped
-- column layer, head
-- column rank bigint: 1 for the relation that is found best; of equal gains the first by name
-- column relation, direction, n, accuracy
-- column offset, offset_accuracy, gain, findable, run
with

judged as (
    select
        hit.layer,
        hit.head,
        hit.relation,
        hit.direction,
        hit.n,
        hit.accuracy,
        hit.findable,
        baseline."offset",
        baseline.accuracy as offset_accuracy,
        share_above(hit.correct, hit.n, baseline.correct, baseline.n) as gain
    from pair_hit(
        runs := (select list(chosen_run.id) from chosen_run), subtypes := $subtypes, possessive := $possessive
    ) as hit
    left join best_offset(
        runs := (select list(chosen_run.id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        offsets := $offsets, clamped := $clamped
    ) as baseline
        on baseline.relation = hit.relation
        and baseline.side = hit.side
    where hit.n >= $min_count and hit.relation <> 'all'
),

ranked as (
    select
        judged.*,
        row_number() over (
            partition by judged.layer, judged.head
            order by judged.gain desc nulls last, judged.relation, judged.direction
        ) as rank
    from judged
)

select
    ranked.layer,
    ranked.head,
    ranked.rank,
    ranked.relation,
    ranked.direction,
    ranked.n,
    ranked.accuracy,
    ranked."offset",
    ranked.offset_accuracy,
    ranked.gain,
    ranked.findable,
    (select chosen_run.name from chosen_run) as run
from ranked
where ranked.rank <= $most
order by ranked.layer, ranked.head, ranked.rank
