-- title: Whether heads of one layer are closer to each other than to the heads of other layers
-- paper: Clark et al. 2019, section 6
-- grain: one row per layer, and one (layer null) over all pairs
-- formula: δ(a, b) = js_divergence(a, b) / n_tokens, of head_distance
-- formula: within_layer(l) = mean of δ(a, b) over the pairs of different heads a, b of layer l
-- formula: between_layers(l) = mean of δ(a, b) over the heads a of layer l and the heads b of every other layer
-- formula: ratio = within_layer / between_layers
-- run: needs=sums favours=pair/token
-- plot: lines x=layer y=within_layer,between_layers
-- note: δ is at most ln 2 = 0.69, and can be compared between runs. A pair of different layers counts in the rows of both.
-- param smoothing
-- column layer smallint: 1-based layer; null for all pairs of heads
-- column within_layer double: mean distance between two heads of the layer, in nats per token; null if it has one
-- column between_layers double: mean distance between a head of the layer and one of another, in nats per token
-- column ratio double: within_layer divided by between_layers: below 1 where heads of the layer are alike
-- column pairs_within bigint: pairs of heads that within_layer is over
-- column pairs_between bigint: pairs of heads that between_layers is over
-- column run

-- In the rows of its layers, and in that of all.
with pair_of_layer as (
    select
        layer_a = layer_b as is_within,
        js_divergence / n_tokens as distance,
        unnest(case when layer_a = layer_b then [layer_a, null] else [layer_a, layer_b, null] end) as layer
    from head_distance(smoothing := $smoothing, run := $run) as distance
),

per_layer as (
    select
        layer,
        avg(case when is_within then distance end) as within_layer,
        avg(case when not is_within then distance end) as between_layers,
        count(*) filter (where is_within) as pairs_within,
        count(*) filter (where not is_within) as pairs_between
    from pair_of_layer
    group by all
)

select
    layer, within_layer, between_layers,
    within_layer / between_layers as ratio,
    pairs_within, pairs_between,
    (select name from chosen_run) as run
from per_layer
order by layer nulls last
