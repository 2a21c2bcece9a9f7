-- title: The finished ablation sets of some runs, without their controls
-- grain: one row per (run, ablation, number)
-- param runs, ablation
-- column run integer: run.id of the run
-- column ablation, number, replacement
-- column name varchar: name of the set
select ablation_set.run, ablation_set.ablation, ablation_set.number, ablation_set.name, ablation_set.replacement
from ablation_set
where list_contains($runs, ablation_set.run)
    and ablation_set.control_of is null
    and ablation_set.finished is not null
    and ($ablation is null or ablation_set.ablation = $ablation)
