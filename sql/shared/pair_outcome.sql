-- title: The margins of the minimal pairs of some runs, with all heads and with each selected set ablated
-- grain: one row per (source, pair, ablation, number)
-- param runs, ablation
-- column source, pair, paradigm, cluster, attractors, distance of pair_margin
-- column ablation, number, margin
-- column name varchar: name of the set of heads that is disabled, or whole model
-- column whole_margin double: the margin of the whole model; null for itself
-- column better integer: 1 if it is right with the heads ablated and wrong with all, else 0; null for the whole model
-- column worse integer: 1 if it is wrong with the heads ablated and right with all, else 0; null for the whole model
with outcome as (
    select
        source, pair, paradigm, cluster, attractors, distance,
        cast(null as varchar) as ablation,
        cast(null as integer) as number,
        'whole model' as name,
        margin,
        cast(null as double) as whole_margin
    from pair_margin(runs := $runs) as pair
    union all
    select
        whole.source, whole.pair, whole.paradigm, whole.cluster, whole.attractors, whole.distance,
        selected_set.ablation, selected_set.number, selected_set.name,
        ablated_pair.bad_nats - ablated_pair.good_nats,
        whole.margin
    from pair_margin(runs := $runs) as whole
    inner join selected_ablation_set(runs := $runs, ablation := $ablation) as selected_set using (run)
    inner join ablated_pair using (run, source, pair, ablation, number)
    where ablated_pair.good_nats is not null
        and ablated_pair.bad_nats is not null
)

select
    source, pair, paradigm, cluster, attractors, distance, ablation, number, name, margin, whole_margin,
    case when margin > 0 and whole_margin <= 0 then 1 when whole_margin is not null then 0 end as better,
    case when margin <= 0 and whole_margin > 0 then 1 when whole_margin is not null then 0 end as worse
from outcome
