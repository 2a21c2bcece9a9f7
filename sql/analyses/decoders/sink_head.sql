-- title: Attention sinks by head
-- paper: Gu et al. 2025 (When attention sink emerges in language models), equation 7
-- grain: one row per (layer, head)
-- formula: sink = mean over inputs of 1(α(k) > epsilon); weight = mean over inputs of α(k), with α(k) as in
--   attention_sink
-- run: needs=shares favours=document/token
-- plot: grid color=sink,weight domain=0,1
-- note: the mean of sink over all heads is that of attention_sink.
-- note: the intervals are by documents (by inputs, if the source marks no documents or the run has only one), with
--   Student's t.
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
with

per_cluster as (
    select
        share.layer,
        share.head,
        share.cluster,
        sum(case when share.weight > $epsilon then cast(1 as double) else cast(0 as double) end) as sink,
        sum(share.weight) as weight,
        sum(share.chance) as chance,
        cast(count(*) as double) as n
    from received_share(
        runs := (select list(chosen_run.id) from chosen_run), to_position := coalesce($to_position, 0)
    ) as share
    group by share.layer, share.head, share.cluster
),

per_head as (
    select
        per_cluster.layer,
        per_cluster.head,
        sum(per_cluster.sink) / sum(per_cluster.n) as sink,
        sum(per_cluster.weight) / sum(per_cluster.n) as weight,
        clustered_margin(per_cluster.weight, per_cluster.n) as margin,
        sum(per_cluster.chance) / sum(per_cluster.n) as chance,
        cast(sum(per_cluster.n) as bigint) as sequences
    from per_cluster
    group by per_cluster.layer, per_cluster.head
)

select
    per_head.layer,
    per_head.head,
    per_head.sink,
    per_head.weight,
    within_share(per_head.weight - per_head.margin) as low,
    within_share(per_head.weight + per_head.margin) as high,
    per_head.chance,
    per_head.sequences,
    (select chosen_run.name from chosen_run) as run
from per_head
order by per_head.layer, per_head.head
