-- title: How often the gold head is at a fixed offset from its dependent, per relation
-- paper: Clark et al. 2019, section 4.2
-- grain: one row per (relation, offset), of a causal model per (relation, offset, side)
-- formula: accuracy(r, k) = |{d ∈ D(r) : d + k = head(d)}| / |D(r)|, where D(r) are the dependents of relation r
-- run: unit=word needs=trees usual=sentence
-- plot: grid x=offset y=relation color=accuracy domain=0,1
-- caption offset: Fixed offset
-- note: offset 1 predicts the next word, -1 the one before. An offset that leaves the sentence is wrong.
-- note: the published code clamps it instead: past the last word it predicts that word, before the first one the root.
--   So it is right as well for heads that are the last word, and in the row all for a root among the first words.
--   clamped := true does the same.
-- note: the published code tries -3 to 2; table 1 of the paper has none beyond that.
-- note: of a causal model an offset to the left is scored on the dependents whose head stands to the left, and one to
--   the right on the others, as the directions are that can find them (see gold_dependency). On either, an offset to
--   the left is from the later of the two words to the earlier, whichever of them is the dependent.
-- param relation, offsets, clamped, run, subtypes, possessive
-- column relation
-- column offset integer: predicted head minus dependent, in words, multiword tokens as written; in SQL write "offset"
-- column accuracy, correct, n, findable, overall, side, run
select relation, "offset", accuracy, correct, n, findable, overall, side, (select name from chosen_run) as run
from offset_hit(
    runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
    saved := saved_relation_name($relation), offsets := $offsets, clamped := $clamped
) as hit
where $relation is null or relation = $relation
order by relation, "offset", side
