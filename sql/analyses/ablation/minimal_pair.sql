-- title: How often the better of two is the more probable, by paradigm, with all heads and without some
-- paper: Warstadt et al. 2020 (BLiMP: the benchmark of linguistic minimal pairs for English), section 4
-- grain: one row per (source, paradigm, ablation, set), those of the whole model first
-- formula: accuracy = share of pairs with ln P(good) > ln P(bad)
-- run: needs=pairs
-- plot: bars x=accuracy y=paradigm low=low high=high beside=chance panel=source,name domain=0,1
-- note: the pairs are those of attnbank surprisal RUN --pairs FILE, of --agreement too, whose paradigm is the relation of
--   the subject. Of a file whole sentences are compared: of a causal model without the first word where nothing stands
--   before it, of a masked model by pseudo-log-likelihood (Salazar et al. 2020).
-- note: the intervals are Wilson's, every pair by itself. Pairs that the model cannot be asked for are left out.
-- param ablation varchar = null: only this ablation; null for all of the run
-- param source varchar = null: only pairs of this file, or agreement; null for all
-- column source varchar: name of the file, or agreement
-- column paradigm varchar: what the file calls it, or the relation of the subject; all for all of the source
-- column ablation varchar: name of the ablation; null for the whole model
-- column name varchar: name of the set of heads that is disabled, or whole model
-- column n bigint: pairs
-- column accuracy double: share of pairs whose good one is the more probable, in [0, 1]
-- column low, high
-- column margin double: mean of ln P(good) − ln P(bad), in nats
-- column chance double: 0.5
-- column run
with

known_set as (
    select ablation_set.*
    from ablation_set
    inner join chosen_run on chosen_run.id = ablation_set.run
    where ablation_set.control_of is null
        and ablation_set.finished is not null
        and ($ablation is null or ablation_set.ablation = $ablation)
),

asked as (
    select minimal_pair.*
    from minimal_pair
    inner join chosen_run on chosen_run.id = minimal_pair.run
    where $source is null or minimal_pair.source = $source
),

judged as (
    select
        asked.source,
        asked.paradigm,
        cast(null as varchar) as ablation,
        cast(null as integer) as number,
        asked.bad_nats - asked.good_nats as margin
    from asked
    union all
    select
        asked.source,
        asked.paradigm,
        known_set.ablation,
        known_set.number,
        ablated_pair.bad_nats - ablated_pair.good_nats
    from known_set
    inner join ablated_pair
        on ablated_pair.run = known_set.run
        and ablated_pair.ablation = known_set.ablation
        and ablated_pair.number = known_set.number
    inner join asked
        on asked.source = ablated_pair.source
        and asked.number = ablated_pair.pair
),

by_paradigm as (
    select
        judged.source,
        unnest([judged.paradigm, 'all']) as paradigm,
        judged.ablation,
        judged.number,
        judged.margin
    from judged
    where judged.margin is not null
),

averaged as (
    select
        by_paradigm.source,
        by_paradigm.paradigm,
        by_paradigm.ablation,
        by_paradigm.number,
        count(*) as n,
        share_of(by_paradigm.margin > 0) as accuracy,
        avg(by_paradigm.margin) as margin
    from by_paradigm
    group by by_paradigm.source, by_paradigm.paradigm, by_paradigm.ablation, by_paradigm.number
)

select
    averaged.source,
    averaged.paradigm,
    averaged.ablation,
    coalesce(known_set.name, 'whole model') as name,
    averaged.n,
    averaged.accuracy,
    wilson_low(averaged.accuracy * averaged.n, averaged.n) as low,
    wilson_high(averaged.accuracy * averaged.n, averaged.n) as high,
    averaged.margin,
    cast(0.5 as double) as chance,
    (select chosen_run.name from chosen_run) as run
from averaged
left join known_set
    on known_set.ablation = averaged.ablation
    and known_set.number = averaged.number
order by
    averaged.source,
    case when averaged.ablation is null then 0 else 1 end,
    averaged.ablation,
    averaged.number,
    case when averaged.paradigm = 'all' then 0 else 1 end,
    averaged.paradigm
