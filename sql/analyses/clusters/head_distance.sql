-- title: The Jensen-Shannon divergence between the attention of every two heads
-- paper: Clark et al. 2019, section 6
-- grain: one row per pair of different heads, the earlier one first
-- formula: js_divergence(a, b) = Σ over inputs, Σ over i of JS(p_a(i, ·), p_b(i, ·))
-- formula: JS(p, q) = ½ Σ_j p_j ln(p_j / m_j) + ½ Σ_j q_j ln(q_j / m_j), with m = (p + q) / 2
-- formula: p(i, j) = (1 − smoothing) α(i, j) + smoothing / n
-- run: needs=sums favours=pair/token
-- plot: matrix x=layer_a,head_a y=layer_b,head_b color=js_divergence
-- note: over all tokens, special ones too, with the natural logarithm: at most ln 2 per token.
-- note: computed once, into table head_distance, by attnbank compute head_distance; SQL alone took 18 times as long.
-- param smoothing
-- column layer_a smallint: 1-based layer of the earlier head
-- column head_a smallint: 1-based number of the earlier head in its layer
-- column layer_b smallint: 1-based layer of the later head
-- column head_b smallint: 1-based number of the later head in its layer
-- column js_divergence double: sum over tokens of the Jensen-Shannon divergence, in nats
-- column n_tokens bigint: tokens that the sum is over
-- column run
with computed_run as (
    select id, name
    from chosen_run
    where require(
        id in (
            select run
            from head_distance
            where abs(smoothing - $smoothing) < cast(0.000000000001 as double)
        ),
        concat(
            'The distances between the heads of ', name,
            ' are not computed yet. Type: attnbank compute head_distance --run ', cast(id as varchar),
            ' --smoothing ', cast($smoothing as varchar)
        )
    )
)

select
    distance.layer_a, distance.head_a, distance.layer_b, distance.head_b, distance.js_divergence, distance.n_tokens,
    computed_run.name as run
from computed_run
left join head_distance as distance
    on distance.run = computed_run.id
    and abs(distance.smoothing - $smoothing) < cast(0.000000000001 as double)
order by distance.layer_a, distance.head_a, distance.layer_b, distance.head_b
