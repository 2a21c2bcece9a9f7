-- The runs of an attached source that are not among $runs, and what was computed from each.
select
    coalesce(any_value(run.name), 'number ' || computation.run) as run,
    string_agg(distinct computation.step, ', ' order by computation.step) as steps
from source.main.computation as computation
left join source.main.run as run on run.id = computation.run
where computation.run not in (select unnest(cast($runs as integer[])))
group by computation.run
order by computation.run
