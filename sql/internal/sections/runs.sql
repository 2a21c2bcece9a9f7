-- The runs of a bank with what distinguishes them, the oldest first.
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
