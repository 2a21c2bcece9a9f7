-- title: Induction heads: how much each head attends to the token after an earlier occurrence of the same token
-- paper: Olsson et al. 2022 (In-context learning and induction heads); score by TransformerLens' detect_head
-- grain: one row per (layer, head)
-- formula: score = mean over inputs of Σ_i Σ_{j ∈ P(i)} α(i, j) / Σ_i Σ_j α(i, j)
-- formula: P(i) = {j + 1 : j < i, token(j) = token(i)}
-- formula: weight = Σ_i Σ_{j ∈ P(i)} α(i, j) / |{i : P(i) ≠ ∅}|, over the positions of all inputs
-- run: needs=shares favours=sentence/token
-- weights: true
-- plot: grid color=weight domain=0,1
-- note: score is small for any head if few positions have a target: at most n divided by all positions. weight is over
--   these positions alone; on repeated random tokens it is the prefix-matching score of Olsson et al.
-- note: natural text repeats words that are frequent or related; on random tokens that come twice a model can use
--   nothing but the pattern itself: attnbank ingest --repeat 50 --unit token.
-- note: tokens are the same where the vocabulary writes them alike; words, in a run of words, where their pieces are.
-- note: intervals are by documents (by inputs if the source marks none or the run has only one), with Student's t.
-- param exclude_bos, exclude_current_token, control_run
-- column layer, head, score, low, high, chance, weight, weight_low, weight_high, weight_chance, control, control_low,
--   control_high, control_seeds, control_run, n, sequences of pattern_head
-- column run
select pattern.*
from pattern_head(
    run := (select id from chosen_run), control_run := $control_run, pattern := 'induction',
    reads_weights := true, exclude_bos := $exclude_bos, exclude_current_token := $exclude_current_token
) as pattern
order by layer, head
