-- title: The run that an analysis reads
-- grain: one row; an error if no run can be read, and no row if the empty name is requested
-- note: it is the run that is requested. If none is, the finished runs of trained weights that fit are compared: those
--   that the bank prefers (attnbank use) come first, then those of the favoured kind, then those over the whole corpus
--   (without --limit), then the newest. A run of random weights, or over random tokens (--repeat), is read only if it is
--   named.
-- param requested varchar = null: name or id of the run
-- param unit, contexts, needs, usual, reads_weights, reads_largest
-- param favours varchar = null: context and unit (pair/token) of the runs that it takes before others
-- column id integer: run.id
-- column name
-- column corpus integer: corpus.id of its corpus
-- column model integer: model.id of its model
-- column is_causal boolean: whether its tokens see only those before them (model.causal)
with

candidate as (
    select
        candidate.id,
        candidate.name,
        candidate.corpus,
        candidate.model,
        candidate.is_causal,
        candidate.is_preferred,
        candidate.is_whole,
        candidate.is_usual,
        candidate.lacks_weights,
        candidate.unusable_because is null as is_usable,
        candidate.not_default_because is null as is_default,
        concat(candidate.context, '/', candidate.unit) = $favours as is_favoured,
        coalesce(is_run_named(candidate.id, candidate.name, $requested), false) as is_requested,
        case
            when coalesce(candidate.unusable_because, candidate.not_default_because) is null then candidate.name
            else concat(
                candidate.name, ' (', coalesce(candidate.unusable_because, candidate.not_default_because), ')'
            )
        end as description
    from run_candidate(
        unit := $unit, contexts := $contexts, needs := $needs, usual := $usual, reads_weights := $reads_weights,
        reads_largest := $reads_largest
    ) as candidate
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
        ) filter (
            where candidate.is_usable
                and case when $requested is null then candidate.is_default else candidate.is_requested end
        ) as id,
        count(*) > 0 as has_runs,
        coalesce(max(case when candidate.is_usable then 1 end), 0) as usable,
        coalesce(max(case when candidate.is_usable and candidate.is_usual then 1 end), 0) as usual,
        coalesce(max(case when candidate.lacks_weights then 1 end), 0) as lacks_weights,
        coalesce(max(case when candidate.is_requested then 1 end), 0) as is_known,
        coalesce(joined(list_sort(list(candidate.description))), 'none') as every_run
    from candidate
)

select candidate.id, candidate.name, candidate.corpus, candidate.model, candidate.is_causal
from choice
left join candidate on candidate.id = choice.id
where ($requested <> '' or $requested is null) and require(
    choice.id is not null or $requested = '',
    concat(
        case
            when $requested is not null and choice.is_known = 0
                then concat('There is no run ', $requested, ' in the bank')
            when $requested is not null then concat('The run ', $requested, ' cannot answer this')
            when choice.usable = 1 then 'No run answers this by default'
            else 'No run can answer this'
        end,
        '; the runs of the bank: ', choice.every_run,
        case
            when choice.usual = 1 or (choice.usable = 1 and $requested is not null)
                then '. Type: the name of one that can (--run, run=)'
            else concat(
                '. Type: attnbank ', how_to_make($needs, $usual, choice.has_runs, choice.lacks_weights = 1)
            )
        end
    )
)
