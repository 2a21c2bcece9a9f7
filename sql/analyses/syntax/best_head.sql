-- title: The best head for each relation, compared with the best fixed offset (the paper's table 1)
-- paper: Clark et al. 2019, section 4.2, table 1
-- grain: one row per relation, the most frequent first
-- formula: (head, direction)*(r) = argmax_{h, v} |{d ∈ D(r) : prediction_{h,v}(d) = head(d)}|, as in head_accuracy
-- formula: accuracy(r) = |{d ∈ D(r) : prediction*(d) = head(d)}| / |D(r)|, where D(r) are the dependents of relation r
-- formula: offset(r) = argmax_k |{d ∈ D(r) : d + k = head(d)}|; gain = accuracy − offset_accuracy
-- formula: low, high = (p + z²/2m ∓ z √(p (1 − p) / m + z²/4m²)) / (1 + z²/m), where p is accuracy, z = 1.96 and m the
--   effective number of independent dependents, given their documents (Korn and Graubard 1998)
-- formula: gain_low, gain_high as in head_score
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=accuracy y=relation low=low high=high beside=offset_accuracy,held_out_accuracy label=layer,head
--   aside=n,offset domain=0,1
-- empty: no relation has min_count dependents (--min-count 1 shows them all)
-- note: the head is chosen on the words that it is scored on, as in the paper, so that accuracy, low and high are too
--   high for it, most where n is small; held_out_accuracy, perhaps of another head, is not (see best_head_held_out). Of
--   equal heads the lowest layer, then the lowest head, then dependent_to_head.
-- note: the published code tries the offsets -3 to 2, clamped (see offset_baseline), and prints relations with 100
--   dependents or more (min_count := 100), punctuation and root left out.
-- note: of a causal model the best head is the one that finds the most dependents, and it is scored, like the offset,
--   on those that its direction can find (see gold_dependency): findable is their share. In most relations that
--   direction is later_to_earlier, both others together; head_accuracy has the two directions apart.
-- param relation, min_count, run, subtypes, possessive, offsets, clamped
-- column relation, n, layer, head, direction, accuracy, low, high, offset, offset_accuracy, gain, gain_low, gain_high
-- column held_out_accuracy double: accuracy on every second document (or sentence) of the best head of the others
-- column findable, overall, run
with best as (
    select hit.*
    from pair_hit(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), by_documents := true
    ) as hit
    where n >= $min_count
        and ($relation is null or relation = $relation)
    qualify row_number() over (partition by relation order by correct desc, layer, head, direction) = 1
),

baseline as (
    select fixed_offset.*
    from best_offset(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), offsets := $offsets, clamped := $clamped
    ) as fixed_offset
),

per_relation as (
    select
        relation,
        cast(sum(n) as bigint) as n,
        cast(sum(only_head) as bigint) as only_head,
        cast(sum(only_offset) as bigint) as only_offset,
        clustered_pairs(only_head, only_offset, n) as effective
    from head_against_offset(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), clamped := $clamped,
        heads := (
            select
                list([
                    cast(best.run as varchar), best.relation, cast(best.layer as varchar), cast(best.head as varchar),
                    best.direction, cast(baseline."offset" as varchar)
                ])
            from best
            inner join baseline using (relation, side)
        )
    ) as comparison
    group by all
),

half_hit as (
    select
        hit.*,
        row_number() over (partition by relation, is_chosen_on order by correct desc, layer, head, direction) as place
    from held_out_hit(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation), choose := 'half', min_count := 1
    ) as hit
),

-- The head that is best on one half, scored on the other.
held_out as (
    select scored.relation, scored.accuracy
    from half_hit as selected
    inner join half_hit as scored using (relation, layer, head, direction)
    where selected.is_chosen_on
        and selected.place = 1
        and not scored.is_chosen_on
)

select
    best.relation, best.n, best.layer, best.head, best.direction, best.accuracy,
    wilson_low(best.accuracy * best.effective, best.effective) as low,
    wilson_high(best.accuracy * best.effective, best.effective) as high,
    baseline."offset",
    baseline.accuracy as offset_accuracy,
    share_above(best.correct, best.n, baseline.correct, baseline.n) as gain,
    paired_low(per_relation.only_head, per_relation.only_offset, per_relation.n, per_relation.effective) as gain_low,
    paired_high(per_relation.only_head, per_relation.only_offset, per_relation.n, per_relation.effective) as gain_high,
    held_out.accuracy as held_out_accuracy,
    best.findable, best.overall,
    (select name from chosen_run) as run
from best
left join baseline using (relation, side)
left join per_relation using (relation)
left join held_out using (relation)
order by best.n desc, best.relation
