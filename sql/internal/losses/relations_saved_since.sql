-- The relations whose edges an ablation cuts, and which were saved again after it was begun.
select distinct saved_relation.name
from ablation_set
inner join saved_relation on saved_relation.name = ablation_set.relation
where ablation_set.run = $run
    and ablation_set.ablation = $ablation
    and saved_relation.saved > ablation_set.started
order by saved_relation.name
