-- title: How much attention each head gives to no position at all: to a sink of its own or a hidden prompt
-- paper: beyond Clark et al. 2019, whose models have no sinks
-- grain: one row per (layer, head)
-- formula: missing = mean over inputs of 1/n Σ_i (1 − Σ_j α(i, j))
-- run: needs=shares favours=pair/token
-- plot: grid color=missing domain=0,1
-- caption missing: Weight on no position
-- note: the heads of some models (GPT-OSS, MiMo-V2) have a sink, a learnt share of the softmax that goes nowhere, so
--   that a head can attend to nothing. Their rows are kept as the model returns them, and sum to less than 1
--   (model.sinks). Every weight, maximum and mean weight is what it says; entropy and the distances between heads are
--   of whole distributions, and refuse such runs.
-- note: 0, but for rounding, for every other model.
-- column layer, head
-- column missing double: mean share of the attention of a position that goes to no position, in [0, 1]
-- column sequences, run
select
    attention_map.layer, attention_map.head,
    avg(greatest(cast(0 as double), 1 - weight_total(attention_map.received) / sequence.positions)) as missing,
    count(*) as sequences,
    (select name from chosen_run) as run
from chosen_run
inner join sequence on sequence.run = chosen_run.id
inner join attention_map on attention_map.sequence = sequence.id
group by attention_map.layer, attention_map.head
order by attention_map.layer, attention_map.head
