-- title: Whether the model of each run is causal
-- grain: one row per run
-- column run integer: run.id
-- column is_causal boolean: whether its model's tokens see only those before them
select run.id as run, coalesce(model.causal, false) as is_causal
from run
inner join model on model.id = run.model
