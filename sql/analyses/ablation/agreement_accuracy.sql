-- title: How often a verb agrees with its subject, by the nouns in between, with all heads and without some
-- paper: Linzen et al. 2016 (Assessing the ability of LSTMs to learn syntax-sensitive dependencies); Goldberg 2019
-- grain: one row per (ablation, set, attractors), those of the whole model first
-- formula: accuracy = share of verbs with ln P(the verb as it is written) > ln P(its form in the other number)
-- run: needs=pairs
-- plot: lines x=attractors y=accuracy color=name low=low high=high rule=chance
-- note: the pairs are made from the trees of the corpus (attnbank surprisal RUN --agreement): a finite verb that agrees in
--   number with its subject, where the corpus has the other number's form of the same lemma.
-- note: a causal model knows what stands before the verb, a masked model the whole sentence.
-- note: attractors are nouns between subject and verb in the other number. The intervals are those of shares, by documents.
-- param ablation varchar = null: only this ablation; null for all of the run
-- column ablation varchar: name of the ablation; null for the whole model
-- column name varchar: name of the set of heads that is disabled, or whole model
-- column attractors integer: nouns of the other number in between: 0, 1, or 2 for 2 and more; null for all
-- column n bigint: verbs
-- column accuracy double: share of verbs that are more probable than their other form, in [0, 1]
-- column low, high
-- column margin double: mean of ln P(the verb) − ln P(its other form), in nats
-- column distance double: mean number of words from the subject to the verb
-- column chance double: 0.5
-- column run
with

read_run as materialized (
    select coalesce(list(chosen_run.id), []) as ids from chosen_run
),

known_set as (
    select ablation_set.*
    from ablation_set
    inner join chosen_run on chosen_run.id = ablation_set.run
    where ablation_set.control_of is null
        and ablation_set.finished is not null
        and ($ablation is null or ablation_set.ablation = $ablation)
),

asked as (
    select
        minimal_pair.number as pair,
        least(minimal_pair.attractors, 2) as attractors,
        minimal_pair.distance,
        cast(case when placed.is_single then word.sentence else placed.number end as bigint) as cluster,
        minimal_pair.good_nats,
        minimal_pair.bad_nats
    from minimal_pair
    inner join chosen_run on chosen_run.id = minimal_pair.run
    inner join word on word.id = minimal_pair.word
    inner join sentence on sentence.id = word.sentence
    inner join corpus_document(runs := (select read_run.ids from read_run)) as placed
        on placed.document = sentence.document
    where minimal_pair.source = 'agreement'
),

judged as (
    select
        cast(null as varchar) as ablation,
        cast(null as integer) as number,
        asked.attractors,
        asked.cluster,
        asked.distance,
        asked.bad_nats - asked.good_nats as margin
    from asked
    union all
    select
        known_set.ablation,
        known_set.number,
        asked.attractors,
        asked.cluster,
        asked.distance,
        ablated_pair.bad_nats - ablated_pair.good_nats
    from known_set
    inner join ablated_pair
        on ablated_pair.run = known_set.run
        and ablated_pair.ablation = known_set.ablation
        and ablated_pair.number = known_set.number
        and ablated_pair.source = 'agreement'
    inner join asked on asked.pair = ablated_pair.pair
),

by_attractors as (
    select
        judged.ablation,
        judged.number,
        unnest([judged.attractors, cast(null as integer)]) as attractors,
        judged.cluster,
        judged.distance,
        judged.margin
    from judged
    where judged.margin is not null
),

per_cluster as (
    select
        by_attractors.ablation,
        by_attractors.number,
        by_attractors.attractors,
        by_attractors.cluster,
        sum(case when by_attractors.margin > 0 then cast(1 as double) else cast(0 as double) end) as correct,
        cast(count(*) as double) as n,
        sum(by_attractors.margin) as margin,
        sum(cast(by_attractors.distance as double)) as distance
    from by_attractors
    group by by_attractors.ablation, by_attractors.number, by_attractors.attractors, by_attractors.cluster
),

averaged as (
    select
        per_cluster.ablation,
        per_cluster.number,
        per_cluster.attractors,
        cast(sum(per_cluster.n) as bigint) as n,
        sum(per_cluster.correct) / sum(per_cluster.n) as accuracy,
        clustered_n(per_cluster.correct, per_cluster.n) as effective,
        sum(per_cluster.margin) / sum(per_cluster.n) as margin,
        sum(per_cluster.distance) / sum(per_cluster.n) as distance
    from per_cluster
    group by per_cluster.ablation, per_cluster.number, per_cluster.attractors
)

select
    averaged.ablation,
    coalesce(known_set.name, 'whole model') as name,
    averaged.attractors,
    averaged.n,
    averaged.accuracy,
    wilson_low(averaged.accuracy * averaged.effective, averaged.effective) as low,
    wilson_high(averaged.accuracy * averaged.effective, averaged.effective) as high,
    averaged.margin,
    averaged.distance,
    cast(0.5 as double) as chance,
    (select chosen_run.name from chosen_run) as run
from averaged
left join known_set
    on known_set.ablation = averaged.ablation
    and known_set.number = averaged.number
order by
    case when averaged.ablation is null then 0 else 1 end,
    averaged.ablation,
    averaged.number,
    case when averaged.attractors is null then 0 else 1 end,
    averaged.attractors
