-- title: Accuracy on the minimal pairs of some runs by class, with all heads and with each selected set ablated
-- grain: one row per (source, class, ablation, number)
-- param runs, ablation
-- param by_attractors boolean = false: class the pairs by their attractors, 2 for 2 and more, and not by their paradigm
-- column source
-- column class varchar: the paradigm, or the number of attractors; all for all pairs of the source
-- column ablation, number
-- column name of pair_outcome
-- column n bigint: pairs
-- column accuracy double: share of pairs whose good one is the more probable, in [0, 1]
-- column low, high
-- column difference double: accuracy minus that of the whole model, on the same pairs; null for that
-- column difference_low double: lower end of the 95 % interval of difference, a paired difference by documents
-- column difference_high double: upper end of that interval
-- column margin double: mean of ln P(good) − ln P(bad), in nats
-- column distance double: mean number of words from the subject to the verb; null for pairs of a file
-- column chance double: 0.5

-- Each pair counts twice: in its class, and in all.
with classed_pair as (
    select
        pair.*,
        unnest(['all', case when $by_attractors then cast(least(attractors, 2) as varchar) else paradigm end]) as class
    from pair_outcome(runs := $runs, ablation := $ablation) as pair
),

per_cluster as (
    select
        source, class, ablation, number, name, cluster,
        count(*) as n,
        sum(case when margin > 0 then 1 else 0 end) as correct,
        sum(better) as better,
        sum(worse) as worse,
        sum(margin) as margin,
        sum(distance) as distance
    from classed_pair
    group by all
),

per_set as (
    select
        source, class, ablation, number, name,
        cast(sum(n) as bigint) as n,
        ratio(sum(correct), sum(n)) as accuracy,
        clustered_n(correct, n) as effective,
        sum(better) as better,
        sum(worse) as worse,
        clustered_pairs(better, worse, n) as pairs,
        sum(margin) / sum(n) as margin,
        ratio(sum(distance), sum(n)) as distance
    from per_cluster
    group by all
)

select
    source, class, ablation, number, name, n, accuracy,
    wilson_low(accuracy * effective, effective) as low,
    wilson_high(accuracy * effective, effective) as high,
    ratio(better - worse, n) as difference,
    paired_low(better, worse, n, pairs) as difference_low,
    paired_high(better, worse, n, pairs) as difference_high,
    margin, distance,
    cast(0.5 as double) as chance
from per_set
