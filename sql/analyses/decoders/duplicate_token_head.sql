-- title: Duplicate-token heads: how much each head attends to earlier occurrences of the same token
-- paper: Olsson et al. 2022 (In-context learning and induction heads); the score is that of TransformerLens'
--   detect_head
-- grain: one row per (layer, head)
-- formula: score = mean over inputs of Σ_i Σ_{j ∈ P(i)} α(i, j) / Σ_i Σ_j α(i, j)
-- formula: P(i) = {j : j < i, token(j) = token(i)}
-- formula: weight = Σ_i Σ_{j ∈ P(i)} α(i, j) / |{i : P(i) ≠ ∅}|, over the positions of all inputs
-- run: needs=shares favours=sentence/token
-- weights: true
-- plot: grid color=weight domain=0,1
-- note: score is small for any head if few positions have a target: at most n divided by all positions. weight is over
--   these positions alone; on repeated random tokens it is the prefix-matching score of Olsson et al.
-- note: natural text repeats words that are frequent or related; on random tokens that come twice a model can use
--   nothing but the pattern itself: attnbank ingest --repeat 50 --unit token.
-- note: tokens are the same where the vocabulary writes them alike; words, in a run of words, where their pieces are.
-- note: the intervals are by documents (by inputs, if the source marks no documents or the run has only one), with
--   Student's t.
-- param exclude_bos, exclude_current_token
-- param control_run varchar = null: name or id of a run to compare with, such as the same model with random weights
-- column layer, head
-- column score double: share of the attention of an input that goes to the targets P(i), a mean over inputs
-- column low double: lower end of the 95 % interval of score; null, like high, if all inputs are in one document
-- column high double: upper end of the 95 % interval of score
-- column chance double: score of uniform attention over the positions that each can see
-- column weight double: mean attention to the targets of the positions that have any; null if none has
-- column weight_low double: lower end of the 95 % interval of weight
-- column weight_high double: upper end of the 95 % interval of weight
-- column weight_chance double: weight of uniform attention
-- column control double: weight of the head of the same number in the control; null without one
-- column control_low double: lowest such weight of the control and of its siblings: random weights of other seeds
-- column control_high double: highest such weight
-- column control_seeds bigint: number of these runs: 1 unless the control has siblings (attnbank info)
-- column control_run varchar: name of the control; null without one
-- column n bigint: positions that have a target
-- column sequences, run
select
    pattern.layer,
    pattern.head,
    pattern.score,
    pattern.low,
    pattern.high,
    pattern.chance,
    pattern.weight,
    pattern.weight_low,
    pattern.weight_high,
    pattern.weight_chance,
    pattern.control,
    pattern.control_low,
    pattern.control_high,
    pattern.control_seeds,
    pattern.control_run,
    pattern.n,
    pattern.sequences,
    chosen_run.name as run
from pattern_head(
    run := (select chosen_run.id from chosen_run), control_run := $control_run, pattern := 'duplicate_token',
    reads_weights := true, exclude_bos := $exclude_bos, exclude_current_token := $exclude_current_token
) as pattern
inner join chosen_run on chosen_run.id = pattern.run
order by pattern.layer, pattern.head
