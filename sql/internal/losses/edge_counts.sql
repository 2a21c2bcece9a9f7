-- How many edges each set of an ablation has cut.
select number, count(*) as edges
from ablated_edge
where run = $run
    and ablation = $ablation
group by all
order by number
