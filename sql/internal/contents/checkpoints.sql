-- The checkpoints of the training that a run belongs to, in order; none if it belongs to none.
select checkpoint.step, checkpoint.name
from series_run(anchor := (select run.id from run where run.name = $run)) as checkpoint
order by checkpoint.step
