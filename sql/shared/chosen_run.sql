-- title: The run that an analysis reads
-- grain: one row; an error if no run can be read, and no row if the empty name is asked for
-- note: it is the run that is asked for. If none is, the finished runs of trained weights that fit are compared: those
--   that the bank prefers (attnbank use) come first, then those of the favoured kind, then the newest. A run of random
--   weights is read only if it is named.
-- param asked varchar = null: name or id of the run that is asked for
-- param unit varchar = null: the unit that the analysis reads, word or token; null for any
-- param contexts varchar[] = null: the contexts that it reads; null for any
-- param needs varchar = null: what it reads besides attention (trees, mentions, gradients, losses); null for nothing
-- param equipped integer[] = []: the runs that have what it needs: runs_with_trees(), runs_with_mentions(), ...
-- param usual varchar = null: the context of a run that it takes if none is named; null for any
-- param reads_weights boolean = false: whether it reads every weight, and not only peaks and sums
-- param favours varchar = null: context and unit (pair/token) of the runs that it takes before others
-- column id integer: run.id
-- column name varchar: name of the run
-- column corpus integer: corpus.id of its corpus
-- column model integer: model.id of its model
with

candidate as (
    select
        fit.id,
        fit.misfit,
        fit.is_preferred,
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
        reads_weights := $reads_weights
    ) as fit
),

choice as (
    select
        max(case when candidate.may_answer and candidate.is_preferred and candidate.is_favoured then candidate.id end)
            as best,
        max(case when candidate.may_answer and candidate.is_preferred then candidate.id end) as preferred,
        max(case when candidate.may_answer and candidate.is_favoured then candidate.id end) as favoured,
        max(case when candidate.may_answer then candidate.id end) as newest,
        sum(case when candidate.misfit is null then 1 else 0 end) as fitting,
        coalesce(joined(list_sort(list(candidate.description))), 'none') as every_run
    from candidate
)

select run.id, run.name, run.corpus, run.model
from choice
left join run on run.id = coalesce(choice.best, choice.preferred, choice.favoured, choice.newest)
where ($asked <> '' or $asked is null) and refuse_unless(
    choice.newest is not null or $asked = '',
    concat(
        case
            when $asked is not null then concat('No run called ', $asked, ' can answer this')
            when choice.fitting > 0 then 'No run answers this unless it is named'
            else 'No run can answer this'
        end,
        '; the runs of the bank: ', choice.every_run,
        case
            when choice.fitting > 0 then '. Type: the name of one that can (--run, run=)'
            when $needs = 'gradients' then '. Type: attnbank ingest CORPUS --context pair --unit token --gradients'
            when $needs = 'losses' then '. Type: attnbank ingest CORPUS --context pair --unit token --ablate heads'
            else concat(
                '. Type: attnbank ingest CORPUS',
                case when $usual <> 'sentence' then concat(' --context ', $usual) else '' end,
                case when $reads_weights then ' --keep weights' else '' end
            )
        end
    )
)
