-- The sets of an ablation, each with its heads, and the edges that it cut.
select
    ablation_set.number, ablation_set.name, ablation_set.replacement, ablation_set.relation, ablation_set.direction,
    ablation_set.cut_at, ablation_set.seed,
    list([ablated_head.layer, ablated_head.head] order by ablated_head.layer, ablated_head.head) as heads
from ablation_set
inner join ablated_head using (run, ablation, number)
where ablation_set.run = $run
    and ablation_set.ablation = $ablation
group by all
order by ablation_set.number
