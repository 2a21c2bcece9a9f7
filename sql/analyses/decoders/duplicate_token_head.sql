-- title: How much each head looks at the same token where it stood before
-- paper: Olsson et al. 2022 (In-context learning and induction heads); the score is that of TransformerLens'
--   detect_head
-- grain: one row per (layer, head)
-- formula: score = mean over inputs of Σ_i Σ_{j ∈ P(i)} α(i, j) / Σ_i Σ_j α(i, j)
-- formula: P(i) = {j : j < i, token(j) = token(i)}
-- formula: weight = Σ_i Σ_{j ∈ P(i)} α(i, j) / |{i : P(i) ≠ ∅}|, over the positions of all inputs
-- run: needs=shares favours=sentence/token
-- weights: true
-- plot: grid color=weight domain=0,1
-- note: score is small where few positions have something there, whatever a head does: at most n divided by all
--   positions. weight is over these alone, which on repeated random tokens is the prefix-matching score of Olsson et
--   al.
-- note: natural text repeats what is frequent and what hangs together; a model has no other way than the pattern itself
--   on random tokens that come twice: attnbank ingest --repeat 50 --unit token.
-- note: tokens are the same where the vocabulary writes them alike; words, in a run of words, where their pieces are.
-- note: the intervals are by documents (by inputs, where the source marks none or the run reads one), with Student's t.
-- param exclude_bos, exclude_current_token
-- param control_run varchar = null: name or id of a run to put beside it: the same model with random weights, say
-- column layer, head
-- column score double: share of the attention of an input that goes there, a mean over inputs
-- column low double: lower end of the 95 % interval of score; null, like high, if all inputs are in one document
-- column high double: upper end of the 95 % interval of score
-- column chance double: score of even attention over the positions that each can see
-- column weight double: mean attention to it of the positions that have something there; null where none has
-- column weight_low double: lower end of the 95 % interval of weight
-- column weight_high double: upper end of the 95 % interval of weight
-- column weight_chance double: weight of even attention
-- column control double: weight of the head of the same number in the control; null without one
-- column control_low double: the lowest such weight of the control and of the same random weights of other seeds
-- column control_high double: the highest one
-- column control_seeds bigint: how many runs these are of: 1 unless the control has siblings (attnbank info)
-- column control_run varchar: name of the control; null without one
-- column n bigint: positions that have something there
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
