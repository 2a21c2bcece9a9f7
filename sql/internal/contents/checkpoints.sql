-- The checkpoints of the training that a run belongs to, in order; none if it belongs to none.
select step, name
from series_run(anchor := (select id from run where name = $run)) as checkpoint
order by step
