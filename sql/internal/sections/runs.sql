-- The runs of a bank with their distinguishing options, the oldest first.
select
    run.id, run.name, run.model, run.corpus, run.context, run.unit,
    run.finished is not null as is_finished,
    map_extract_value(run.options, 'limit') is null as is_whole,
    preferred_run.run is not null as is_preferred
from run
left join preferred_run on preferred_run.run = run.id
order by run.id
