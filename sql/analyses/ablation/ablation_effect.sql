-- title: What gets worse without a set of heads, beside random sets of the same size
-- paper: Michel et al. 2019 (Are sixteen heads really better than one?), section 3; Clark et al. 2019, section 4.2, for
--   what the heads were chosen by
-- grain: one row per (ablation, set, outcome, class), the largest loss first
-- formula: difference = mean_i without(i) − mean_i whole(i), over the same words or pairs
-- formula: low, high: 95 % of 1,000 resamples of the documents, the same ones for both (paired bootstrap)
-- formula: p = (1 + |{c ∈ controls : c is at least as bad}|) / (1 + |controls|), where at least as bad is a difference
--   in surprisal that is as large, or in accuracy that is as small
-- run: needs=ablations
-- plot: bars x=difference y=name,class low=low high=high beside=control_mean panel=ablation,outcome aside=n
-- note: surprisal in nats a word: above 0 the model does worse without the heads. Of pairs (agreement, files) the share
--   in which the good one is the more probable: below 0 it does worse.
-- note: controls are the sets that were drawn at random beside the set (attnbank ablate --controls); p is exact, and
--   with n controls not below 1 / (n + 1).
-- note: the classification repeated tells words whose form stood before in their sentence (in a run of ingest --repeat:
--   the second time) from the others. A relation, a saved one too, takes its dependents, and of agreement the verbs
--   with such a subject.
-- note: intervals go by documents, at most 100 groups of them; by sentences where the source marks none or the run
--   reads one, and by pairs where they are from a file. Null where the words of a class are all in one.
-- param ablation
-- param classification varchar = null {relation, upos, repeated}: also one row for each class of words; of pairs, each
--   paradigm
-- param relation
-- column ablation
-- column name varchar: name of the set
-- column heads varchar: its heads, as layer-head
-- column replacement
-- column outcome varchar: surprisal, agreement, or the name of a file of pairs
-- column class varchar: the relation, part of speech, new or repeated; all for all words
-- column n bigint: words, or pairs
-- column whole double: mean surprisal in nats, or accuracy, of the whole model
-- column without double: the same without the heads
-- column difference double: without minus whole
-- column low double: lower end of the 95 % interval of difference
-- column high double: upper end of the 95 % interval of difference
-- column controls bigint: random sets beside it
-- column control_mean double: mean difference of these
-- column p double: how likely a random set is at least as bad; null without controls
-- column run
with

read_run as materialized (
    select coalesce(list(chosen_run.id), []) as ids from chosen_run
),

known_set as (
    select ablation_set.*
    from ablation_set
    inner join chosen_run on chosen_run.id = ablation_set.run
    where ablation_set.finished is not null
        and ($ablation is null or ablation_set.ablation = $ablation)
),

outcome_sum as materialized (
    select
        outcome.outcome,
        outcome.cluster,
        outcome.class,
        outcome.ablation,
        outcome.number,
        sum(outcome.whole) as whole,
        sum(outcome.without) as without,
        cast(count(*) as double) as n
    from outcome(
        runs := (select read_run.ids from read_run), relation := $relation, classification := $classification,
        saved := as_saved($relation)
    ) as outcome
    inner join known_set
        on known_set.ablation = outcome.ablation
        and known_set.number = outcome.number
    group by outcome.outcome, outcome.cluster, outcome.class, outcome.ablation, outcome.number
),

place as materialized (
    select
        each.outcome,
        each.cluster,
        1 + (row_number() over (partition by each.outcome order by each.cluster) - 1) % 100 as group_number
    from (select distinct outcome_sum.outcome, outcome_sum.cluster from outcome_sum) as each
),

-- The classes, and all of them together.
classed as (
    select
        outcome_sum.outcome,
        place.group_number,
        unnest(case when outcome_sum.class = 'all' then ['all'] else ['all', outcome_sum.class] end) as class,
        outcome_sum.ablation,
        outcome_sum.number,
        outcome_sum.whole,
        outcome_sum.without,
        outcome_sum.n
    from outcome_sum
    inner join place
        on place.outcome = outcome_sum.outcome
        and place.cluster = outcome_sum.cluster
),

per_group as materialized (
    select
        classed.outcome,
        classed.class,
        classed.group_number,
        classed.ablation,
        classed.number,
        sum(classed.whole) as whole,
        sum(classed.without) as without,
        sum(classed.n) as n
    from classed
    group by classed.outcome, classed.class, classed.group_number, classed.ablation, classed.number
),

effect as materialized (
    select
        per_group.outcome,
        per_group.class,
        per_group.ablation,
        per_group.number,
        cast(sum(per_group.n) as bigint) as n,
        sum(per_group.whole) / sum(per_group.n) as whole,
        sum(per_group.without) / sum(per_group.n) as without,
        (sum(per_group.without) - sum(per_group.whole)) / sum(per_group.n) as difference
    from per_group
    group by per_group.outcome, per_group.class, per_group.ablation, per_group.number
),

-- How many groups the resamples of an outcome draw from.
size as materialized (
    select place.outcome, max(place.group_number) as groups
    from place
    group by place.outcome
    having max(place.group_number) > 1
),

every_group as (
    select size.outcome, each.group_number
    from size
    inner join (select unnest(range(1, 101)) as group_number) as each on each.group_number <= size.groups
),

resample as materialized (
    select each.*
    from resampled(sizes := (select list(size.groups) from size)) as each
),

chosen as materialized (
    select known_set.*
    from known_set
    where known_set.control_of is null
),

in_groups as (
    select
        effect.outcome,
        effect.class,
        effect.ablation,
        effect.number,
        values_of(list_sort(
            list({
                'place': every_group.group_number,
                'value': coalesce(per_group.without - per_group.whole, cast(0 as double))
            })
        )) as differences,
        values_of(list_sort(
            list({'place': every_group.group_number, 'value': coalesce(per_group.n, cast(0 as double))})
        )) as counts
    from effect
    inner join chosen
        on chosen.ablation = effect.ablation
        and chosen.number = effect.number
    inner join every_group on every_group.outcome = effect.outcome
    left join per_group
        on per_group.outcome = effect.outcome
        and per_group.class = effect.class
        and per_group.ablation = effect.ablation
        and per_group.number = effect.number
        and per_group.group_number = every_group.group_number
    group by effect.outcome, effect.class, effect.ablation, effect.number
    having count(per_group.n) > 1
),

resampled as (
    select
        in_groups.outcome,
        in_groups.class,
        in_groups.ablation,
        in_groups.number,
        list_inner_product(in_groups.differences, resample.times) as total,
        list_inner_product(in_groups.counts, resample.times) as n
    from in_groups
    inner join size on size.outcome = in_groups.outcome
    inner join resample on resample.size = size.groups
),

sorted as (
    select
        resampled.outcome,
        resampled.class,
        resampled.ablation,
        resampled.number,
        list_sort(list(resampled.total / resampled.n)) as differences
    from resampled
    where resampled.n > 0
    group by resampled.outcome, resampled.class, resampled.ablation, resampled.number
),

beside as (
    select
        own.outcome,
        own.class,
        own.ablation,
        own.number,
        count(*) as controls,
        avg(other.difference) as control_mean,
        sum(
            case
                when own.outcome = 'surprisal' and other.difference >= own.difference then 1
                when own.outcome <> 'surprisal' and other.difference <= own.difference then 1
                else 0
            end
        ) as as_bad
    from effect as own
    inner join known_set
        on known_set.ablation = own.ablation
        and known_set.control_of = own.number
    inner join effect as other
        on other.ablation = known_set.ablation
        and other.number = known_set.number
        and other.outcome = own.outcome
        and other.class = own.class
    group by own.outcome, own.class, own.ablation, own.number
),

named_head as (
    select
        ablated_head.ablation,
        ablated_head.number,
        string_agg(
            concat(ablated_head.layer, '-', ablated_head.head), ', ' order by ablated_head.layer, ablated_head.head
        ) as heads
    from ablated_head
    inner join chosen_run on chosen_run.id = ablated_head.run
    group by ablated_head.ablation, ablated_head.number
)

select
    chosen.ablation,
    chosen.name,
    named_head.heads,
    chosen.replacement,
    effect.outcome,
    effect.class,
    effect.n,
    effect.whole,
    effect.without,
    effect.difference,
    list_extract(sorted.differences, cast(greatest(1, len(sorted.differences) // 40) as bigint)) as low,
    list_extract(
        sorted.differences, cast(len(sorted.differences) + 1 - greatest(1, len(sorted.differences) // 40) as bigint)
    ) as high,
    coalesce(beside.controls, 0) as controls,
    beside.control_mean,
    cast(1 + beside.as_bad as double) / (1 + beside.controls) as p,
    (select chosen_run.name from chosen_run) as run
from chosen
inner join effect
    on effect.ablation = chosen.ablation
    and effect.number = chosen.number
left join sorted
    on sorted.outcome = effect.outcome
    and sorted.class = effect.class
    and sorted.ablation = effect.ablation
    and sorted.number = effect.number
left join beside
    on beside.outcome = effect.outcome
    and beside.class = effect.class
    and beside.ablation = effect.ablation
    and beside.number = effect.number
left join named_head
    on named_head.ablation = chosen.ablation
    and named_head.number = chosen.number
order by
    chosen.ablation,
    case when effect.outcome = 'surprisal' then 0 else 1 end,
    effect.outcome,
    case when effect.class = 'all' then 0 else 1 end,
    case when effect.outcome = 'surprisal' then -effect.difference else effect.difference end,
    effect.class,
    chosen.number
