-- title: Accuracy of subject-verb agreement by number of attractors, with all heads and with some ablated
-- paper: Linzen et al. 2016 (Assessing the ability of LSTMs to learn syntax-sensitive dependencies); Goldberg 2019
-- grain: one row per (ablation, set, attractors), those of the whole model first
-- formula: accuracy = share of verbs with ln P(the verb as it is written) > ln P(its form in the other number)
-- formula: difference = (better − worse) / n, where better are the verbs that agree only without the heads, worse those
--   that agree only in the whole model
-- run: needs=pairs
-- plot: lines x=attractors y=accuracy color=name low=low high=high rule=chance
-- note: the pairs are made from the trees of the corpus (attnbank surprisal RUN --agreement): a finite verb that agrees
--   in number with its subject, where the corpus has the other number's form of the same lemma.
-- note: a causal model sees what is before the verb, a masked model the whole sentence. So a verb before its subject
--   (here are some articles) is left out for a causal model: its surprisals in table minimal_pair are null.
-- note: attractors are nouns between subject and verb in the other number. The intervals are those of shares, by
--   documents.
-- param ablation
-- column ablation
-- column name varchar: name of the set of heads that is disabled, or whole model
-- column attractors integer: nouns of the other number in between: 0, 1, or 2 for 2 and more; null for all
-- column n bigint: verbs
-- column accuracy double: share of verbs that are more probable than their other form, in [0, 1]
-- column low, high
-- column difference double: accuracy minus that of the whole model, on the same verbs; null for that
-- column difference_low double: lower end of the 95 % interval of difference, a paired difference by documents
-- column difference_high double: upper end of that interval
-- column margin double: mean of ln P(the verb) − ln P(its other form), in nats
-- column distance double: mean number of words from the subject to the verb
-- column chance double: 0.5
-- column run
with

-- Each verb counts twice: with its number of attractors, and with null, which stands for all.
by_attractors as (
    select
        pair.ablation,
        pair.number,
        pair.name,
        unnest([least(pair.attractors, 2), cast(null as integer)]) as attractors,
        pair.cluster,
        pair.distance,
        pair.margin,
        pair.whole_margin
    from pair_outcome(runs := (select list(id) from chosen_run), ablation := $ablation) as pair
    where pair.source = 'agreement'
),

-- better and worse are null for the whole model, which is not compared with itself.
per_cluster as (
    select
        by_attractors.ablation,
        by_attractors.number,
        by_attractors.name,
        by_attractors.attractors,
        by_attractors.cluster,
        sum(case when by_attractors.margin > 0 then cast(1 as double) else cast(0 as double) end) as correct,
        cast(count(*) as double) as n,
        sum(
            case
                when by_attractors.margin > 0 and by_attractors.whole_margin <= 0 then 1
                when by_attractors.whole_margin is not null then 0
            end
        ) as better,
        sum(
            case
                when by_attractors.margin <= 0 and by_attractors.whole_margin > 0 then 1
                when by_attractors.whole_margin is not null then 0
            end
        ) as worse,
        sum(by_attractors.margin) as margin,
        sum(cast(by_attractors.distance as double)) as distance
    from by_attractors
    group by
        by_attractors.ablation, by_attractors.number, by_attractors.name, by_attractors.attractors,
        by_attractors.cluster
),

per_set as (
    select
        per_cluster.ablation,
        per_cluster.number,
        per_cluster.name,
        per_cluster.attractors,
        cast(sum(per_cluster.n) as bigint) as n,
        sum(per_cluster.correct) / sum(per_cluster.n) as accuracy,
        clustered_n(per_cluster.correct, per_cluster.n) as effective,
        sum(per_cluster.better) as better,
        sum(per_cluster.worse) as worse,
        clustered_pairs(per_cluster.better, per_cluster.worse, per_cluster.n) as pairs,
        sum(per_cluster.margin) / sum(per_cluster.n) as margin,
        sum(per_cluster.distance) / sum(per_cluster.n) as distance
    from per_cluster
    group by per_cluster.ablation, per_cluster.number, per_cluster.name, per_cluster.attractors
)

select
    per_set.ablation,
    per_set.name,
    per_set.attractors,
    per_set.n,
    per_set.accuracy,
    wilson_low(per_set.accuracy * per_set.effective, per_set.effective) as low,
    wilson_high(per_set.accuracy * per_set.effective, per_set.effective) as high,
    ratio(per_set.better - per_set.worse, per_set.n) as difference,
    paired_low(per_set.better, per_set.worse, per_set.n, per_set.pairs) as difference_low,
    paired_high(per_set.better, per_set.worse, per_set.n, per_set.pairs) as difference_high,
    per_set.margin,
    per_set.distance,
    cast(0.5 as double) as chance,
    (select chosen_run.name from chosen_run) as run
from per_set
order by
    case when per_set.ablation is null then 0 else 1 end,
    per_set.ablation,
    per_set.number,
    case when per_set.attractors is null then 0 else 1 end,
    per_set.attractors
