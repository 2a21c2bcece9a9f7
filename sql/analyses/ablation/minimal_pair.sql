-- title: How often the better of two is the more probable, by paradigm, with all heads and without some
-- paper: Warstadt et al. 2020 (BLiMP: the benchmark of linguistic minimal pairs for English), section 4
-- grain: one row per (source, paradigm, ablation, set), those of the whole model first
-- formula: accuracy = share of pairs with ln P(good) > ln P(bad)
-- run: needs=pairs
-- plot: bars x=accuracy y=paradigm low=low high=high beside=chance panel=source,name aside=n domain=0,1
-- note: the pairs are those of attnbank surprisal RUN --pairs FILE, of --agreement too, whose paradigm is the relation of
--   the subject. Of a file whole sentences are compared: of a causal model without the first word where nothing stands
--   before it, of a masked model by pseudo-log-likelihood (Salazar et al. 2020).
-- note: the intervals are Wilson's, every pair by itself. Pairs that the model cannot be asked for are left out.
-- param ablation
-- param source varchar = null: only pairs of this file, or agreement; null for all
-- column source
-- column paradigm varchar: what the file calls it, or the relation of the subject; all for all of the source
-- column ablation
-- column name varchar: name of the set of heads that is disabled, or whole model
-- column n bigint: pairs
-- column accuracy double: share of pairs whose good one is the more probable, in [0, 1]
-- column low, high
-- column margin double: mean of ln P(good) − ln P(bad), in nats
-- column chance double: 0.5
-- column run
with

by_paradigm as (
    select
        judged.source,
        unnest([judged.paradigm, 'all']) as paradigm,
        judged.ablation,
        judged.number,
        judged.name,
        judged.margin
    from judged_pair(
        runs := (select coalesce(list(chosen_run.id), []) from chosen_run), ablation := $ablation
    ) as judged
    where $source is null or judged.source = $source
),

averaged as (
    select
        by_paradigm.source,
        by_paradigm.paradigm,
        by_paradigm.ablation,
        by_paradigm.number,
        by_paradigm.name,
        count(*) as n,
        share_of(by_paradigm.margin > 0) as accuracy,
        avg(by_paradigm.margin) as margin
    from by_paradigm
    group by
        by_paradigm.source, by_paradigm.paradigm, by_paradigm.ablation, by_paradigm.number, by_paradigm.name
)

select
    averaged.source,
    averaged.paradigm,
    averaged.ablation,
    averaged.name,
    averaged.n,
    averaged.accuracy,
    wilson_low(averaged.accuracy * averaged.n, averaged.n) as low,
    wilson_high(averaged.accuracy * averaged.n, averaged.n) as high,
    averaged.margin,
    cast(0.5 as double) as chance,
    (select chosen_run.name from chosen_run) as run
from averaged
order by
    averaged.source,
    case when averaged.ablation is null then 0 else 1 end,
    averaged.ablation,
    averaged.number,
    case when averaged.paradigm = 'all' then 0 else 1 end,
    averaged.paradigm
