-- title: Attention sinks by head
-- paper: Gu et al. 2025 (When attention sink emerges in language models), equation 7
-- grain: one row per (layer, head)
-- formula: sink, weight = means over inputs of 1(α(k) > epsilon) and of α(k), as in attention_sink
-- run: needs=shares favours=document/token
-- plot: grid color=sink,weight domain=0,1
-- caption sink: Share of inputs in which the head rests there
-- note: the mean of sink over all heads is that of attention_sink.
-- note: intervals are by documents (by inputs if the source marks none or the run has only one), with Student's t.
-- param epsilon double = 0.3: mean attention above which the position is a sink of a head
-- param to_position integer = 0: the position, from 0
-- column layer, head
-- column sink double: share of the inputs in which it is a sink of the head
-- column weight double: mean attention to it, over inputs
-- column low double: lower end of the 95 % interval of weight; null, like high, if all inputs are in one document
-- column high double: upper end of the 95 % interval of weight
-- column chance double: weight of uniform attention
-- column sequences bigint: inputs that have the position
-- column run
with per_cluster as (
    select
        layer, head, cluster,
        sum(case when weight > $epsilon then cast(1 as double) else cast(0 as double) end) as sink,
        sum(weight) as weight,
        sum(chance) as chance,
        cast(count(*) as double) as n
    from received_share(runs := (select list(id) from chosen_run), to_position := coalesce($to_position, 0)) as share
    group by all
),

per_head as (
    select
        layer, head,
        sum(sink) / sum(n) as sink,
        sum(weight) / sum(n) as weight,
        clustered_margin(weight, n) as margin,
        sum(chance) / sum(n) as chance,
        cast(sum(n) as bigint) as sequences
    from per_cluster
    group by all
)

select
    layer, head, sink, weight,
    within_share(weight - margin) as low,
    within_share(weight + margin) as high,
    chance, sequences,
    (select name from chosen_run) as run
from per_head
order by layer, head
