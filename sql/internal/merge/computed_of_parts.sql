-- The runs of an attached source that are not among $runs, and what was computed from each.
with

computed as (
    select computation.run, computation.step as what
    from source.main.computation as computation
    union all
    select surprisal.run, 'surprisal'
    from source.main.surprisal as surprisal
    union all
    select ablation_set.run, 'ablation ' || ablation_set.ablation
    from source.main.ablation_set as ablation_set
    union all
    select minimal_pair.run, 'pairs of ' || minimal_pair.source
    from source.main.minimal_pair as minimal_pair
)

select
    coalesce(any_value(run.name), 'number ' || computed.run) as run,
    string_agg(distinct computed.what, ', ' order by computed.what) as whats
from computed
left join source.main.run as run on run.id = computed.run
where computed.run not in (select unnest(cast($runs as integer[])))
group by computed.run
order by computed.run
