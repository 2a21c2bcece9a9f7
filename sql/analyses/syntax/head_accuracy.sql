-- title: How often the word that each head attends to most is the gold head, per relation and direction
-- paper: Clark et al. 2019, section 4.2
-- grain: one row per (relation, layer, head, direction)
-- formula: accuracy(r) = |{d ∈ D(r) : prediction(d) = head(d)}| / |D(r)|, where D(r) are the dependents of relation r
-- formula: dependent_to_head: prediction(d) = argmax_{j ∈ W, j ≠ d} α(d, j), where W are the positions of words
-- formula: head_to_dependent: prediction(d) = argmax_{j ∈ W, j ≠ d} α(j, d)
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=accuracy panel=relation,direction domain=0,1
-- note: special tokens and the word itself are left out, ties go to the leftmost.
-- note: the row all counts every word, punctuation too, and a root as always wrong (as the published code); in the
--   relations a root has no head to find and is left out.
-- note: of a causal model each direction is scored on the dependents whose head it can find: dependent_to_head where
--   the head stands to the left, head_to_dependent where it stands to the right; findable is their share.
--   later_to_earlier is both together, from the later of the two words to the earlier, whichever of them is the
--   dependent. It is given the side of the head, which the directions of other models are not: compare_runs compares
--   them. A first word that is set apart is neither scored nor found, as special tokens are (see gold_dependency).
-- param relation, run, subtypes, possessive
-- column relation, layer, head, direction, accuracy, correct, n, findable, overall, run
select relation, layer, head, direction, accuracy, correct, n, findable, overall, (select name from chosen_run) as run
from pair_hit(
    runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
    saved := saved_relation_name($relation)
) as hit
where $relation is null or relation = $relation
order by relation, layer, head, direction
