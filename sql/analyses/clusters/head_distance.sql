-- title: How far apart every two heads attend
-- paper: Clark et al. 2019, section 6
-- grain: one row per pair of different heads, the earlier one first
-- formula: js_divergence(a, b) = Σ over inputs, Σ over i of JS(p_a(i, ·), p_b(i, ·))
-- formula: JS(p, q) = ½ Σ_j p_j ln(p_j / m_j) + ½ Σ_j q_j ln(q_j / m_j), with m = (p + q) / 2
-- formula: p(i, j) = (1 − smoothing) α(i, j) + smoothing / n
-- run: favours=pair/token
-- plot: matrix x=layer_a,head_a y=layer_b,head_b color=js_divergence
-- note: the sum over tokens, special tokens included, of the Jensen-Shannon divergence of the two heads'
--   distributions, with the natural logarithm; at most ln 2 per token.
-- note: it is computed once and kept in table head_distance. Where the run has none, type: attnbank compute
--   head_distance. SQL alone took 18 times as long.
-- param smoothing double = 0.001: share of a uniform distribution that is mixed into every one (published code:
--   0.001)
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights that fits, of token pairs before others
-- column layer_a smallint: 1-based layer of the earlier head
-- column head_a smallint: 1-based number of the earlier head in its layer
-- column layer_b smallint: 1-based layer of the later head
-- column head_b smallint: 1-based number of the later head in its layer
-- column js_divergence double: sum over tokens of the Jensen-Shannon divergence, in nats
-- column n_tokens bigint: tokens that the sum is over
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(asked := $run, favours := 'pair/token') as chosen
),

stored as (
    select
        head_distance.layer_a,
        head_distance.head_a,
        head_distance.layer_b,
        head_distance.head_b,
        head_distance.js_divergence,
        head_distance.n_tokens,
        chosen_run.name as run
    from head_distance
    inner join chosen_run on chosen_run.id = head_distance.run
    where abs(head_distance.smoothing - $smoothing) < cast(0.000000000001 as double)
),

refused as (
    select
        cast(null as smallint) as layer_a,
        cast(null as smallint) as head_a,
        cast(null as smallint) as layer_b,
        cast(null as smallint) as head_b,
        cast(null as double) as js_divergence,
        cast(null as bigint) as n_tokens,
        cast(null as varchar) as run
    from chosen_run
    where not refuse_unless(
        chosen_run.id in (
            select head_distance.run
            from head_distance
            where abs(head_distance.smoothing - $smoothing) < cast(0.000000000001 as double)
        ),
        concat(
            'The distances between the heads of ',
            chosen_run.name,
            ' are not computed yet. Type: attnbank compute head_distance --run ',
            cast(chosen_run.id as varchar),
            ' --smoothing ',
            cast($smoothing as varchar)
        )
    )
)

select
    stored.layer_a,
    stored.head_a,
    stored.layer_b,
    stored.head_b,
    stored.js_divergence,
    stored.n_tokens,
    stored.run
from stored
union all
select
    refused.layer_a,
    refused.head_a,
    refused.layer_b,
    refused.head_b,
    refused.js_divergence,
    refused.n_tokens,
    refused.run
from refused
order by layer_a, head_a, layer_b, head_b
