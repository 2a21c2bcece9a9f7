-- title: The run that an analysis reads
-- grain: one row; an error if no run can be read, and no row if the empty name is asked for
-- note: it is the run that is asked for. If none is, the finished runs of trained weights that fit are compared: those
--   that the bank prefers (attnbank use) come first, then those of the favoured kind, then those over the whole corpus
--   (without --limit), then the newest. A run of random weights, or over random tokens (--repeat), is read only if it is
--   named.
-- param asked varchar = null: name or id of the run that is asked for
-- param unit, contexts, needs, equipped, usual, reads_weights, reads_largest
-- param favours varchar = null: context and unit (pair/token) of the runs that it takes before others
-- column id integer: run.id
-- column name
-- column corpus integer: corpus.id of its corpus
-- column model integer: model.id of its model
-- column is_causal boolean: whether its tokens see only those before them (model.causal)
with

candidate as (
    select
        fit.id,
        fit.misfit,
        fit.is_preferred,
        fit.is_whole,
        $usual is null or $usual = 'sentence' or fit.context = $usual as is_usual,
        concat(fit.context, '/', fit.unit) = $favours as is_favoured,
        case
            when $asked is null then fit.misfit is null and fit.reserve is null
            else fit.misfit is null and (fit.name = $asked or cast(fit.id as varchar) = $asked)
        end as may_answer,
        case
            when fit.misfit is not null then concat(fit.name, ' (', fit.misfit, ')')
            when fit.reserve is not null then concat(fit.name, ' (', fit.reserve, ')')
            else fit.name
        end as description
    from run_fit(
        unit := $unit, contexts := $contexts, needs := $needs, equipped := $equipped, usual := $usual,
        reads_weights := $reads_weights, reads_largest := $reads_largest
    ) as fit
),

choice as (
    select
        arg_max(
            candidate.id,
            (
                case when candidate.is_preferred then 1 else 0 end,
                case when candidate.is_favoured then 1 else 0 end,
                case when candidate.is_whole then 1 else 0 end,
                candidate.id
            )
        ) filter (where candidate.may_answer) as id,
        sum(case when candidate.misfit is null then 1 else 0 end) as fitting,
        sum(case when candidate.misfit is null and candidate.is_usual then 1 else 0 end) as usual,
        coalesce(joined(list_sort(list(candidate.description))), 'none') as every_run
    from candidate
)

select run.id, run.name, run.corpus, run.model, coalesce(model.causal, false) as is_causal
from choice
left join run on run.id = choice.id
left join model on model.id = run.model
where ($asked <> '' or $asked is null) and refuse_unless(
    choice.id is not null or $asked = '',
    concat(
        case
            when $asked is not null then concat('No run called ', $asked, ' can answer this')
            when choice.fitting > 0 then 'No run answers this unless it is named'
            else 'No run can answer this'
        end,
        '; the runs of the bank: ', choice.every_run,
        case
            when choice.usual > 0 or (choice.fitting > 0 and $asked is not null)
                then '. Type: the name of one that can (--run, run=)'
            when $needs = 'gradients' then '. Type: attnbank ingest CORPUS --context pair --unit token --gradients'
            when $needs = 'losses' then '. Type: attnbank ingest CORPUS --context pair --unit token --ablate heads'
            when $needs = 'surprisals' then '. Type: attnbank surprisal RUN'
            when $needs = 'ablations' then '. Type: attnbank ablate NAME --heads LAYER-HEAD'
            when $needs = 'pairs' then '. Type: attnbank surprisal RUN --agreement'
            when $needs = 'ensembles' then '. Type: attnbank compute tree_ensemble --run RUN'
            when $needs = 'decoded_trees' then '. Type: attnbank compute attention_tree --run RUN'
            when $needs = 'spans' then '. Type: attnbank compute attention_span --run RUN'
            when $needs = 'series' then '. Type: attnbank ingest CORPUS --model FOLDER --series ''step*'''
            when $needs = 'shares' then '. Type: attnbank ingest CORPUS --measure weights'
            when $needs = 'sums' then '. Type: attnbank ingest CORPUS --model MODEL (without attention sinks)'
            else concat(
                '. Type: attnbank ingest CORPUS',
                case when $usual <> 'sentence' then concat(' --context ', $usual) else '' end,
                case when $reads_weights or $reads_largest then ' --keep weights' else '' end
            )
        end
    )
)
