-- The runs of an attached source that are not among $runs, and what was computed from each.
with computed as (
    select run, step as what from source.main.computation as computation
    union all
    select run, 'surprisal' from source.main.surprisal as surprisal
    union all
    select run, 'ablation ' || ablation from source.main.ablation_set as ablation_set
    union all
    select run, 'pairs of ' || source from source.main.minimal_pair as minimal_pair
)

select
    coalesce(any_value(run.name), 'number ' || computed.run) as run,
    string_agg(distinct computed.what, ', ' order by computed.what) as whats
from computed
left join source.main.run as run on run.id = computed.run
where computed.run not in (select unnest(cast($runs as integer[])))
group by computed.run
order by computed.run
