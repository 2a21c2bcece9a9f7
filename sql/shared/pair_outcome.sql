-- title: The minimal pairs of some runs, by the whole model and without each chosen set of heads
-- grain: one row per (source, pair, ablation, number)
-- param runs, ablation
-- column source, paradigm, attractors, distance, ablation, number, margin
-- column pair integer: minimal_pair.number
-- column cluster bigint: as in pair_margin
-- column name varchar: name of the set of heads that is disabled, or whole model
-- column whole_margin double: the margin of the whole model; null for itself
select
    asked.source,
    asked.pair,
    asked.paradigm,
    asked.cluster,
    asked.attractors,
    asked.distance,
    cast(null as varchar) as ablation,
    cast(null as integer) as number,
    'whole model' as name,
    asked.margin,
    cast(null as double) as whole_margin
from pair_margin(runs := $runs) as asked
union all
select
    asked.source,
    asked.pair,
    asked.paradigm,
    asked.cluster,
    asked.attractors,
    asked.distance,
    chosen.ablation,
    chosen.number,
    chosen.name,
    ablated_pair.bad_nats - ablated_pair.good_nats,
    asked.margin
from pair_margin(runs := $runs) as asked
inner join selected_ablation_set(runs := $runs, ablation := $ablation) as chosen on chosen.run = asked.run
inner join ablated_pair
    on ablated_pair.run = chosen.run
    and ablated_pair.ablation = chosen.ablation
    and ablated_pair.number = chosen.number
    and ablated_pair.source = asked.source
    and ablated_pair.pair = asked.pair
where ablated_pair.good_nats is not null
    and ablated_pair.bad_nats is not null
