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
with

-- Each pair counts twice: in its paradigm, and in all.
by_paradigm as (
    select
        pair.source,
        unnest([pair.paradigm, 'all']) as paradigm,
        pair.ablation,
        pair.number,
        pair.name,
        pair.cluster,
        pair.margin,
        pair.whole_margin
    from pair_outcome(
        runs := (select coalesce(list(chosen_run.id), []) from chosen_run), ablation := $ablation
    ) as pair
    where $source is null or pair.source = $source
),

-- better and worse are null for the whole model, which is not compared with itself.
per_cluster as (
    select
        by_paradigm.source,
        by_paradigm.paradigm,
        by_paradigm.ablation,
        by_paradigm.number,
        by_paradigm.name,
        by_paradigm.cluster,
        count(*) as n,
        sum(case when by_paradigm.margin > 0 then 1 else 0 end) as correct,
        sum(
            case
                when by_paradigm.margin > 0 and by_paradigm.whole_margin <= 0 then 1
                when by_paradigm.whole_margin is not null then 0
            end
        ) as better,
        sum(
            case
                when by_paradigm.margin <= 0 and by_paradigm.whole_margin > 0 then 1
                when by_paradigm.whole_margin is not null then 0
            end
        ) as worse,
        sum(by_paradigm.margin) as margin
    from by_paradigm
    group by
        by_paradigm.source, by_paradigm.paradigm, by_paradigm.ablation, by_paradigm.number, by_paradigm.name,
        by_paradigm.cluster
),

per_set as (
    select
        per_cluster.source,
        per_cluster.paradigm,
        per_cluster.ablation,
        per_cluster.number,
        per_cluster.name,
        cast(sum(per_cluster.n) as bigint) as n,
        ratio(sum(per_cluster.correct), sum(per_cluster.n)) as accuracy,
        clustered_n(per_cluster.correct, per_cluster.n) as effective,
        sum(per_cluster.better) as better,
        sum(per_cluster.worse) as worse,
        clustered_pairs(per_cluster.better, per_cluster.worse, per_cluster.n) as pairs,
        sum(per_cluster.margin) / sum(per_cluster.n) as margin
    from per_cluster
    group by
        per_cluster.source, per_cluster.paradigm, per_cluster.ablation, per_cluster.number, per_cluster.name
)

select
    per_set.source,
    per_set.paradigm,
    per_set.ablation,
    per_set.name,
    per_set.n,
    per_set.accuracy,
    wilson_low(per_set.accuracy * per_set.effective, per_set.effective) as low,
    wilson_high(per_set.accuracy * per_set.effective, per_set.effective) as high,
    ratio(per_set.better - per_set.worse, per_set.n) as difference,
    paired_low(per_set.better, per_set.worse, per_set.n, per_set.pairs) as difference_low,
    paired_high(per_set.better, per_set.worse, per_set.n, per_set.pairs) as difference_high,
    per_set.margin,
    cast(0.5 as double) as chance,
    (select chosen_run.name from chosen_run) as run
from per_set
order by
    per_set.source,
    case when per_set.ablation is null then 0 else 1 end,
    per_set.ablation,
    per_set.number,
    case when per_set.paradigm = 'all' then 0 else 1 end,
    per_set.paradigm
