-- title: How many gold dependencies are in the trees that are decoded from each head
-- paper: Htut et al. 2019 (Do attention heads in BERT track syntactic dependencies?); Raganato and Tiedemann 2018;
--   beside Clark et al. 2019, section 5
-- grain: one row per (source, layer, head, direction), the best first
-- formula: uuas = |{(d, g) : the tree has d → g or g → d}| / |{(d, g)}|, over the gold dependencies between two words
-- formula: uas = |{(d, g) : the tree has g as the head of d}| / |{(d, g)}|
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is uuas, z = 1.96 and n the
--   effective number of independent dependencies (by documents)
-- run: unit=word needs=decoded_trees usual=sentence
-- plot: grid color=uuas panel=direction domain=0,1
-- empty: no tree was decoded in this way (attnbank compute attention_tree --root ROOT --decoder DECODER)
-- note: roots are left out, which uas would count if they were given. Punctuation is a word of the tree, and is not
--   scored unless punctuation := true.
-- note: of the direction both, and of causal models, arcs have no direction of their own: uas says how well they point
--   away from the root, and is worth little without root := 'gold'.
-- note: best_tree chooses on one half of the documents and scores on the other; here a row is scored on all, so that
--   the best of many rows is too good.
-- param root, decoder
-- param source varchar = 'head' {head, layer, all, ensemble}: whose attention; null for every one
-- param punctuation, run
-- column source, layer, head, direction, uuas, low, high, found, uas, correct, n, findable, adjacent, gain, gain_low,
--   gain_high of tree_score
-- column run
select
    source, layer, head, direction, uuas, low, high, found, uas, correct, n, findable, adjacent, gain, gain_low,
    gain_high, (select name from chosen_run) as run
from tree_score(
    runs := (select list(id) from chosen_run), root := $root, decoder := $decoder, punctuation := $punctuation
) as tree
where $source is null or source = $source
order by found desc, source, layer, head, direction
