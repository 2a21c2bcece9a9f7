-- title: The effect of ablating heads, or of cutting the edges of a relation, compared with random ones
-- paper: Michel et al. 2019 (Are sixteen heads really better than one?), section 3; Clark et al. 2019, section 4.2, for
--   what the heads were chosen by
-- grain: one row per (ablation, set, outcome, class), the largest loss first
-- formula: difference = mean_i without(i) − mean_i whole(i), over the same words or pairs
-- formula: low, high: of surprisal difference ∓ t √Var(difference), from the variance among D documents, with Student's
--   t for (Σ n)² / Σ n² − 1, at least 1, where n are the words of each; of pairs the 95 % interval of a difference of
--   paired shares (Bonett and Price 2012), where n is the effective number of independent pairs (by documents)
-- formula: p = (1 + |{c ∈ controls : c is at least as bad}|) / (1 + |controls|), where at least as bad is a difference
--   in surprisal that is as large, or in accuracy that is as small
-- run: needs=ablations
-- plot: bars x=difference y=name,class low=low high=high beside=control_mean panel=ablation,outcome aside=n
-- note: surprisal in nats a word: above 0 the model is worse without the heads. For pairs (agreement, files) the share
--   in which the good one is more probable: below 0 the model is worse.
-- note: where edges were cut (attnbank ablate --edges), heads are those in which they were, and each control cuts as
--   many random edges over the same distances. The classification cut separates the words that lost an edge in the set,
--   or in its control, from the others; sets of heads have only all words. A causal model has predicted a word before
--   that word attends to anything: what it loses shows in the words after it, unless it was cut where the word is
--   predicted (--at prediction).
-- note: controls are the random sets that were ablated with the set (attnbank ablate --controls); p is exact, and with
--   n controls at least 1 / (n + 1): with fewer than 19 it cannot reach 0.05 and is null.
-- note: the classification repeated separates words whose form occurred earlier in their sentence (in a run of ingest
--   --repeat: the second time) from new ones. A relation, also a saved one, selects its dependents, and of agreement
--   the verbs with such a subject.
-- note: intervals go by documents; by sentences if the source marks no documents or the run has only one, and by pairs
--   of a file. Null if a class is all in one; of surprisal also if the mean difference is the same in all.
-- param ablation
-- param classification varchar = null {relation, upos, repeated, cut}: also by class of words; of pairs, by paradigm
-- param relation
-- column ablation
-- column name varchar: name of the set
-- column heads varchar: its heads, as layer-head; all for all heads of the model
-- column edges varchar: the relation whose edges were cut in these heads, and the direction; null where heads were
--   disabled
-- column replacement
-- column outcome varchar: surprisal, agreement, or the name of a file of pairs
-- column class varchar: the relation, part of speech, new or repeated, cut or kept; all for all words
-- column n bigint: words, or pairs
-- column whole double: mean surprisal in nats, or accuracy, of the whole model
-- column without double: the same without the heads
-- column difference double: without minus whole
-- column low double: lower end of the 95 % interval of difference
-- column high double: upper end of the 95 % interval of difference
-- column controls bigint: random sets that were ablated with it
-- column control_mean double: mean difference of these
-- column p double: how likely a random set is at least as bad; null with fewer than 19 controls
-- column run
with finished_set as (
    select ablation_set.*
    from ablation_set
    inner join chosen_run on chosen_run.id = ablation_set.run
    where ablation_set.finished is not null
        and ($ablation is null or ablation_set.ablation = $ablation)
),

outcome_sum as materialized (
    select
        outcome.outcome, outcome.cluster,
        outcome.class as own_class,
        outcome.ablation, outcome.number,
        sum(outcome.whole) as whole,
        sum(outcome.without) as without,
        sum(case when outcome.without > outcome.whole then cast(1 as double) else cast(0 as double) end) as better,
        sum(case when outcome.without < outcome.whole then cast(1 as double) else cast(0 as double) end) as worse,
        cast(count(*) as double) as n
    from ablation_outcome(
        runs := (select list(id) from chosen_run), relation := $relation, classification := $classification,
        saved := saved_relation_name($relation)
    ) as outcome
    inner join finished_set using (ablation, number)
    group by all
),

-- The classes, and all of them together.
per_cluster as materialized (
    select
        outcome, class, cluster, ablation, number,
        sum(whole) as whole,
        sum(without) as without,
        sum(better) as better,
        sum(worse) as worse,
        sum(n) as n
    from (
        select outcome_sum.*, unnest(case when own_class = 'all' then ['all'] else ['all', own_class] end) as class
        from outcome_sum
    ) as classed_sum
    group by all
),

effect as materialized (
    select
        outcome, class, ablation, number,
        cast(sum(n) as bigint) as n,
        sum(whole) / sum(n) as whole,
        sum(without) / sum(n) as without,
        (sum(without) - sum(whole)) / sum(n) as difference,
        sum(better) as better,
        sum(worse) as worse,
        nullif(clustered_margin(without - whole, n), 0) as margin,
        clustered_pairs(better, worse, n) as effective
    from per_cluster
    group by all
),

control_summary as (
    select
        set_effect.outcome, set_effect.class, set_effect.ablation, set_effect.number,
        count(*) as controls,
        avg(control_effect.difference) as control_mean,
        sum(
            case
                when set_effect.outcome = 'surprisal' and control_effect.difference >= set_effect.difference then 1
                when set_effect.outcome <> 'surprisal' and control_effect.difference <= set_effect.difference then 1
                else 0
            end
        ) as as_bad
    from effect as set_effect
    inner join finished_set
        on finished_set.ablation = set_effect.ablation
        and finished_set.control_of = set_effect.number
    inner join effect as control_effect
        on control_effect.ablation = finished_set.ablation
        and control_effect.number = finished_set.number
        and control_effect.outcome = set_effect.outcome
        and control_effect.class = set_effect.class
    group by all
),

set_heads as (
    select
        ablated_head.ablation, ablated_head.number,
        string_agg(
            concat(ablated_head.layer, '-', ablated_head.head), ', ' order by ablated_head.layer, ablated_head.head
        ) as heads,
        count(*) as head_count
    from ablated_head
    inner join chosen_run on chosen_run.id = ablated_head.run
    group by all
),

model_size as (
    select cast(model.layers as bigint) * model.heads as heads
    from chosen_run
    inner join run on run.id = chosen_run.id
    inner join model on model.id = run.model
)

select
    selected_set.ablation, selected_set.name,
    case when set_heads.head_count = (select heads from model_size) then 'all' else set_heads.heads end as heads,
    case
        when selected_set.relation is not null then concat(
            selected_set.relation, ', ', selected_set.direction,
            case when selected_set.cut_at = 'prediction' then ', where the word is predicted' else '' end
        )
    end as edges,
    selected_set.replacement, effect.outcome, effect.class,
    effect.n, effect.whole, effect.without, effect.difference,
    case
        when effect.outcome = 'surprisal' then effect.difference - effect.margin
        else paired_low(effect.better, effect.worse, effect.n, effect.effective)
    end as low,
    case
        when effect.outcome = 'surprisal' then effect.difference + effect.margin
        else paired_high(effect.better, effect.worse, effect.n, effect.effective)
    end as high,
    coalesce(control_summary.controls, 0) as controls,
    control_summary.control_mean,
    case
        when control_summary.controls >= 19 then ratio(1 + control_summary.as_bad, 1 + control_summary.controls)
    end as p,
    (select name from chosen_run) as run
from finished_set as selected_set
inner join effect using (ablation, number)
left join control_summary using (outcome, class, ablation, number)
left join set_heads using (ablation, number)
where selected_set.control_of is null
    and (effect.class <> 'kept' or selected_set.relation is not null)
order by
    selected_set.ablation,
    case when effect.outcome = 'surprisal' then 0 else 1 end,
    effect.outcome,
    case when effect.class = 'all' then 0 else 1 end,
    case when effect.outcome = 'surprisal' then -effect.difference else effect.difference end,
    effect.class, selected_set.number
