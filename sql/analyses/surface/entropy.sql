-- title: How broadly each head attends: the entropy of its distributions, in nats
-- paper: Clark et al. 2019, section 3.3, figure 4
-- grain: one row per (layer, head)
-- formula: entropy = mean over inputs of 1/n Σ_i H(i), with H(i) = −Σ_j p(i, j) ln p(i, j)
-- formula: entropy_from_cls, uniform = means over inputs of H([CLS]) and ln n, or of a causal model 1/n Σ_i ln i
-- formula: p(i, j) = (1 − smoothing) α(i, j) + smoothing / n
-- run: needs=sums favours=pair/token
-- weights: $smoothing <> 0
-- plot: grid color=entropy,entropy_from_cls
-- caption entropy_from_cls: Entropy from [CLS], in nats
-- note: exact by default, with 0 ln 0 = 0. The published code takes the logarithm of 0.9999 a + 0.0001 / n instead of
--   a: smoothing := 0.0001.
-- note: a sliding window (model.sliding_window) is ignored: in inputs longer than it uniform is too large.
-- param smoothing double = 0.0: share of a uniform distribution that is mixed into every one
-- column layer, head
-- column entropy double: mean entropy over all positions, in nats
-- column entropy_from_cls double: mean entropy from [CLS] only, in nats; null where there is none, and of a causal
--   model, whose [CLS] sees itself alone
-- column uniform double: mean entropy of a uniform distribution over as many positions as can be seen, in nats
-- column sequences, run
with smoothed_distribution as (
    select
        distribution.sequence, distribution.layer, distribution.head, placement.positions,
        is_place_in(distribution.from_position, placement.cls) as is_from_cls,
        list_transform(
            distribution.weights,
            lambda weight: (1 - $smoothing) * cast(weight as double) + $smoothing / placement.positions
        ) as shares
    from chosen_run
    inner join placement on placement.run = chosen_run.id
    inner join distribution using (sequence)
    where $smoothing <> 0
),

-- 0 ln 0 = 0: what is added is lost in every share that a float holds, and keeps ln 0 from being minus infinity.
distribution_entropy as (
    select
        sequence, layer, head, positions, is_from_cls,
        -list_inner_product(shares, list_transform(shares, lambda share: ln(share + cast(1e-300 as double)))) as entropy
    from smoothed_distribution
),

per_sequence as (
    select
        sequence, layer, head, positions,
        avg(entropy) as entropy,
        avg(case when is_from_cls then entropy end) as entropy_from_cls
    from distribution_entropy
    group by all
    union all
    select
        attention_map.sequence, attention_map.layer, attention_map.head, sequence.positions, attention_map.entropy,
        attention_map.entropy_from_cls
    from chosen_run
    inner join sequence on sequence.run = chosen_run.id
    inner join attention_map on attention_map.sequence = sequence.id
    where $smoothing = 0
)

select
    layer, head,
    avg(entropy) as entropy,
    avg(case when not (select is_causal from chosen_run) then entropy_from_cls end) as entropy_from_cls,
    avg(
        case
            when (select is_causal from chosen_run) then log_factorial(positions) / cast(positions as double)
            else ln(cast(positions as double))
        end
    ) as uniform,
    count(*) as sequences,
    (select name from chosen_run) as run
from per_sequence
group by layer, head
order by layer, head
