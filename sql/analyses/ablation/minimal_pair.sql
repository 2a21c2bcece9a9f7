-- title: Accuracy on minimal pairs by paradigm, with all heads and with some ablated
-- paper: Warstadt et al. 2020 (BLiMP: the benchmark of linguistic minimal pairs for English), section 4
-- grain: one row per (source, paradigm, ablation, set), those of the whole model first
-- formula: accuracy = share of pairs with ln P(good) > ln P(bad)
-- formula: difference = (better − worse) / n, where better are the pairs that are right only without the heads, worse
--   those that are right only in the whole model
-- run: needs=pairs
-- plot: bars x=accuracy y=paradigm low=low high=high beside=chance panel=source,name aside=n domain=0,1
-- note: the pairs are those of attnbank surprisal RUN --pairs FILE, of --agreement too, whose paradigm is the relation
--   of the subject. Of a file whole sentences are compared: by a causal model without the first word if nothing is
--   before it, by a masked model by pseudo-log-likelihood (Salazar et al. 2020).
-- note: the intervals are Wilson's, by documents; pairs of a file are independent of each other, and a single pair has
--   no interval. Pairs that the model cannot score are left out.
-- param ablation
-- param source varchar = null: only pairs of this file, or agreement; null for all
-- column source
-- column paradigm varchar: its paradigm in the file, or the relation of the subject; all for all of the source
-- column ablation
-- column name varchar: name of the set of heads that is disabled, or whole model
-- column n bigint: pairs
-- column accuracy double: share of pairs whose good one is the more probable, in [0, 1]
-- column low, high
-- column difference double: accuracy minus that of the whole model, on the same pairs; null for that
-- column difference_low double: lower end of the 95 % interval of difference, a paired difference by documents
-- column difference_high double: upper end of that interval
-- column margin double: mean of ln P(good) − ln P(bad), in nats
-- column chance double: 0.5
-- column run

-- Each pair counts twice: in its paradigm, and in all.
with by_paradigm as (
    select source, unnest([paradigm, 'all']) as paradigm, ablation, number, name, cluster, margin, better, worse
    from pair_outcome(runs := (select coalesce(list(id), []) from chosen_run), ablation := $ablation) as pair
    where $source is null or source = $source
),

per_cluster as (
    select
        source, paradigm, ablation, number, name, cluster,
        count(*) as n,
        sum(case when margin > 0 then 1 else 0 end) as correct,
        sum(better) as better,
        sum(worse) as worse,
        sum(margin) as margin
    from by_paradigm
    group by all
),

per_set as (
    select
        source, paradigm, ablation, number, name,
        cast(sum(n) as bigint) as n,
        ratio(sum(correct), sum(n)) as accuracy,
        clustered_n(correct, n) as effective,
        sum(better) as better,
        sum(worse) as worse,
        clustered_pairs(better, worse, n) as pairs,
        sum(margin) / sum(n) as margin
    from per_cluster
    group by all
)

select
    source, paradigm, ablation, name, n, accuracy,
    wilson_low(accuracy * effective, effective) as low,
    wilson_high(accuracy * effective, effective) as high,
    ratio(better - worse, n) as difference,
    paired_low(better, worse, n, pairs) as difference_low,
    paired_high(better, worse, n, pairs) as difference_high,
    margin,
    cast(0.5 as double) as chance,
    (select name from chosen_run) as run
from per_set
order by
    source,
    case when ablation is null then 0 else 1 end,
    ablation, number,
    case when paradigm = 'all' then 0 else 1 end,
    paradigm
