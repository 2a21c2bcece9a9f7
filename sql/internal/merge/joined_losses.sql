-- The losses of runs that were merged of shards: the mean over all masked tokens.
select
    ablation.run,
    ablation.disabled,
    ablation.layer,
    ablation.head,
    ablation.replacement,
    sum(ablation.loss * ablation.tokens) / greatest(sum(ablation.tokens), 1) as loss,
    cast(sum(ablation.tokens) as integer) as tokens
from main.ablation as ablation
group by ablation.run, ablation.disabled, ablation.layer, ablation.head, ablation.replacement
