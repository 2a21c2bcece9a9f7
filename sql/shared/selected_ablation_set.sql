-- title: The finished ablation sets of some runs, without their controls
-- grain: one row per (run, ablation, number)
-- param runs, ablation
-- column run integer: run.id of the run
-- column ablation, number, replacement
-- column name varchar: name of the set
select run, ablation, number, name, replacement
from ablation_set
where list_contains($runs, run)
    and control_of is null
    and finished is not null
    and ($ablation is null or ablation = $ablation)
