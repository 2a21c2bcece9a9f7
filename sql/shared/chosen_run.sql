-- title: The run that an analysis reads
-- grain: one row; an error if no run can be read, and no row if the empty name is requested
-- note: the run that is requested. If none is, the finished runs of trained weights that fit are compared: those that
--   the bank prefers (attnbank use) come first, then those of the favoured kind, then those over the whole corpus
--   (without --limit), then the newest. A run of random weights, or over random tokens (--repeat), is read only if
--   named.
-- param requested varchar = null: name or id of the run
-- param unit, contexts, needs, usual, reads_weights, reads_largest
-- param favours varchar = null: context and unit (pair/token) of the runs that it takes before others
-- column id, name, corpus, model, is_causal of run_candidate
with candidate as (
    select
        candidate.*,
        unusable_because is null as is_usable,
        concat(context, '/', unit) = $favours as is_favoured,
        coalesce(is_run_named(id, name, $requested), false) as is_requested,
        case
            when coalesce(unusable_because, not_default_because) is null then name
            else concat(name, ' (', coalesce(unusable_because, not_default_because), ')')
        end as description
    from run_candidate(
        unit := $unit, contexts := $contexts, needs := $needs, usual := $usual, reads_weights := $reads_weights,
        reads_largest := $reads_largest
    ) as candidate
),

choice as (
    select
        arg_max(
            id,
            (
                case when is_preferred then 1 else 0 end,
                case when is_favoured then 1 else 0 end,
                case when is_whole then 1 else 0 end,
                id
            )
        ) filter (
            where is_usable
                and case when $requested is null then not_default_because is null else is_requested end
        ) as id,
        count(*) > 0 as has_runs,
        coalesce(max(case when is_usable then 1 end), 0) as usable,
        coalesce(max(case when is_usable and is_usual then 1 end), 0) as usual,
        coalesce(max(case when lacks_weights then 1 end), 0) as lacks_weights,
        coalesce(max(case when is_requested then 1 end), 0) as is_known,
        coalesce(joined(list_sort(list(description))), 'none') as every_run
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
            else concat('. Type: attnbank ', how_to_make($needs, $usual, choice.has_runs, choice.lacks_weights = 1))
        end
    )
)
