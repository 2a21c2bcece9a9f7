-- title: Previous-token heads: how much each head attends to the token before
-- paper: Olsson et al. 2022 (In-context learning and induction heads); score by TransformerLens' detect_head
-- grain: one row per (layer, head)
-- formula: score = mean over inputs of Σ_i Σ_{j ∈ P(i)} α(i, j) / Σ_i Σ_j α(i, j)
-- formula: P(i) = {i − 1}
-- formula: weight = Σ_i Σ_{j ∈ P(i)} α(i, j) / |{i : P(i) ≠ ∅}|, over the positions of all inputs
-- run: needs=shares favours=sentence/token
-- weights: $exclude_bos
-- plot: grid color=weight domain=0,1
-- note: without exclude_bos score is previous of relative_position; weight is the mean over positions with one before
--   them.
-- note: intervals are by documents (by inputs if the source marks none or the run has only one), with Student's t.
-- param exclude_bos, exclude_current_token, control_run
-- column layer, head, score, low, high, chance, weight, weight_low, weight_high, weight_chance, control, control_low,
--   control_high, control_seeds, control_run, n, sequences of pattern_head
-- column run
select pattern.*
from pattern_head(
    run := (select id from chosen_run), control_run := $control_run, pattern := 'previous_token',
    reads_weights := $exclude_bos, exclude_bos := $exclude_bos, exclude_current_token := $exclude_current_token
) as pattern
order by layer, head
