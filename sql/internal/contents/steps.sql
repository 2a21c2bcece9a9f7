-- The checkpoints of the training whose run has this name, in order; none if it is of no training.
select checkpoint.step, checkpoint.name
from series_run(anchor := (select run.id from run where run.name = $run)) as checkpoint
order by checkpoint.step
