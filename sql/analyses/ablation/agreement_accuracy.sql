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
-- note: attractors are nouns between subject and verb in the other number. The intervals are by documents.
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

-- Each verb counts twice: with its number of attractors, and with null, which stands for all.
with by_attractors as (
    select
        ablation, number, name,
        unnest([least(attractors, 2), cast(null as integer)]) as attractors,
        cluster, distance, margin, better, worse
    from pair_outcome(runs := (select list(id) from chosen_run), ablation := $ablation) as pair
    where source = 'agreement'
),

per_cluster as (
    select
        ablation, number, name, attractors, cluster,
        sum(case when margin > 0 then cast(1 as double) else cast(0 as double) end) as correct,
        cast(count(*) as double) as n,
        sum(better) as better,
        sum(worse) as worse,
        sum(margin) as margin,
        sum(cast(distance as double)) as distance
    from by_attractors
    group by all
),

per_set as (
    select
        ablation, number, name, attractors,
        cast(sum(n) as bigint) as n,
        sum(correct) / sum(n) as accuracy,
        clustered_n(correct, n) as effective,
        sum(better) as better,
        sum(worse) as worse,
        clustered_pairs(better, worse, n) as pairs,
        sum(margin) / sum(n) as margin,
        sum(distance) / sum(n) as distance
    from per_cluster
    group by all
)

select
    ablation, name, attractors, n, accuracy,
    wilson_low(accuracy * effective, effective) as low,
    wilson_high(accuracy * effective, effective) as high,
    ratio(better - worse, n) as difference,
    paired_low(better, worse, n, pairs) as difference_low,
    paired_high(better, worse, n, pairs) as difference_high,
    margin, distance,
    cast(0.5 as double) as chance,
    (select name from chosen_run) as run
from per_set
order by
    case when ablation is null then 0 else 1 end,
    ablation, number,
    case when attractors is null then 0 else 1 end,
    attractors
