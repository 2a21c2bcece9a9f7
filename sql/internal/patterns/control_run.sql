-- The control runs of a run of trained weights (see control_run), in the order of their seeds.
select control_run.name
from control_run() as control
inner join run as control_run on control_run.id = control.control
inner join run on run.id = control.run
inner join model on model.id = run.model
where run.name = $run
    and model.random_seed is null
order by control.seed
