-- title: Which attention heads a probe uses
-- paper: Clark et al. 2019, section 5
-- grain: one row per (layer, head, direction), the most used first
-- formula: contribution(h) = mean over dependencies of w_h α_h(d, g) − mean_{c ≠ d, g} w_h α_h(d, c), where g is the
--   gold head of d and c any other word; with α_h(g, d) and α_h(c, d) for head_to_dependent
-- formula: share(h) = max(contribution(h), 0) / Σ_k max(contribution(k), 0)
-- plot: grid color=contribution panel=direction
-- empty: no probe of trained weights reads attention (--probe names another)
-- note: a large weight on a head that never attends to a word's head has no effect; contribution is the weight times
--   the attention, so heads are ranked by it. Heads that do the same share the contribution.
-- param probe integer = null: number of the probe; by default the newest one that reads attention, of trained weights
-- column rank bigint: 1 for the largest contribution; of equals the lowest layer, then the lowest head
-- column layer, head, direction
-- column weight double: mean weight, in nats per unit of attention
-- column contribution double: nats by which it lifts the gold head above the other words, on average
-- column share double: part of the contributions of all heads and directions that lift, in [0, 1]; 0 for others
-- column probe integer: probe.id
with selected_probe as (
    select probe.id
    from requested_probe(probe := $probe) as requested
    inner join probe on probe.id = requested.id
    inner join run on run.id = probe.test_run
    inner join model on model.id = run.model
    where probe.id in (select probe from probe_weight)
        and ($probe is not null or model.random_seed is null)
    order by probe.id desc
    limit 1
),

head_lift as (
    select
        probe_weight.probe, probe_weight.layer, probe_weight.head, probe_weight.direction, probe_weight.weight,
        probe_weight.contribution,
        greatest(probe_weight.contribution, cast(0 as double)) as lifted
    from probe_weight
    inner join selected_probe on selected_probe.id = probe_weight.probe
)

select
    row_number() over (order by contribution desc, layer, head, direction) as rank,
    layer, head, direction, weight, contribution,
    case when sum(lifted) over () > 0 then lifted / sum(lifted) over () else cast(0 as double) end as share,
    probe
from head_lift
order by rank
