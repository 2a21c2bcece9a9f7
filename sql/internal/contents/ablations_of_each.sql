-- The ablation of each run that disabled every head of its model by itself; of several the first by name.
with single_head as (
    select ablated_head.run, ablated_head.ablation, min(ablated_head.layer) as layer, min(ablated_head.head) as head
    from ablation_set
    inner join ablated_head using (run, ablation, number)
    where ablation_set.finished is not null
        and ablation_set.control_of is null
        and ablation_set.relation is null
    group by ablated_head.run, ablated_head.ablation, ablated_head.number
    having count(*) = 1
),

ablated_number as (
    select run, ablation, count(distinct (layer, head)) as heads
    from single_head
    group by run, ablation
)

select run.id as run, min(ablated_number.ablation) as ablation
from ablated_number
inner join run on run.id = ablated_number.run
inner join model on model.id = run.model
where ablated_number.heads = model.heads * model.layers
group by run.id
