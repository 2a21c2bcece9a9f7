-- title: Attention sinks by position: the share of heads with a sink at each position
-- paper: Gu et al. 2025 (When attention sink emerges in language models), equation 7
-- grain: one row per position
-- formula: α(k) = 1/(n − k) Σ_{i ≥ k} α(i, k), over the positions that see position k, which counts from 0: all n of
--   them, unless the model is causal
-- formula: sink(k) = mean over inputs and heads of 1(α(k) > epsilon); weight(k) = mean over inputs and heads of α(k)
-- run: needs=shares favours=document/token
-- plot: lines x=position y=sink low=low high=high
-- caption position: Position in the input, from 0
-- caption sink: Share of heads that rest there
-- note: Gu et al. take natural text of 64 tokens and epsilon = 0.3: attnbank ingest CORPUS --context document
--   --max-tokens 64 --unit token. The shorter an input, the more of it goes to the first position by chance: uniform
--   attention of a causal model exceeds 0.3 in inputs of up to 9 positions (sink_chance).
-- note: the last positions of an input are seen by few: the very last one of a causal model by itself alone.
-- note: intervals are by documents (by inputs if the source marks none or the run has only one), with Student's t.
-- param epsilon double = 0.3: mean attention above which a position is a sink of a head
-- param to_position integer = null: only this position, from 0; null for all
-- column position bigint: 0-based place in the input
-- column sink double: share of the heads that have a sink there, a mean over inputs
-- column low double: lower end of the 95 % interval of sink; null, like high, if all inputs are in one document
-- column high double: upper end of the 95 % interval of sink
-- column sink_chance double: share of the inputs in which uniform attention has a sink there
-- column weight double: mean attention to it, over heads and inputs
-- column chance double: weight of uniform attention
-- column sequences bigint: inputs that have the position
-- column run
with per_sequence as (
    select sequence, cluster, position, chance, share_of(weight > $epsilon) as sink, avg(weight) as weight
    from received_share(runs := (select list(id) from chosen_run), to_position := $to_position) as share
    group by all
),

per_cluster as (
    select
        position, cluster,
        sum(sink) as sink,
        sum(case when chance > $epsilon then cast(1 as double) else cast(0 as double) end) as sink_chance,
        sum(weight) as weight,
        sum(chance) as chance,
        cast(count(*) as double) as n
    from per_sequence
    group by all
),

per_position as (
    select
        position,
        sum(sink) / sum(n) as sink,
        clustered_margin(sink, n) as margin,
        sum(sink_chance) / sum(n) as sink_chance,
        sum(weight) / sum(n) as weight,
        sum(chance) / sum(n) as chance,
        cast(sum(n) as bigint) as sequences
    from per_cluster
    group by all
)

select
    position, sink,
    within_share(sink - margin) as low,
    within_share(sink + margin) as high,
    sink_chance, weight, chance, sequences,
    (select name from chosen_run) as run
from per_position
order by position
