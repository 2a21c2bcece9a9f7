-- The losses of runs that were merged of shards: the mean over all masked tokens.
select
    run, disabled, layer, head, replacement,
    sum(loss * tokens) / greatest(sum(tokens), 1) as loss,
    cast(sum(tokens) as integer) as tokens
from main.ablation as ablation
group by all
