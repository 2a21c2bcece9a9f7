-- The runs of a bank by what tells them apart, the oldest first.
select
    run.id,
    run.name,
    run.model,
    run.corpus,
    run.context,
    run.unit,
    run.finished is not null as is_finished
from run
order by run.id
