-- title: How much the masked-language-model loss increases without a head or a layer, the largest increase first
-- paper: Kovaleva et al. 2019, section 4.6 (disabling self-attention heads)
-- grain: one row per thing disabled (none, a head or a layer) and way of disabling it
-- formula: loss(x) = −1/|T| Σ_{t ∈ T} ln P_x(t), where T are the masked tokens of the run and P_x the model without x
-- formula: increase(x) = loss(x) − loss(none)
-- run: needs=losses
-- plot: grid color=increase panel=replacement
-- note: Kovaleva et al. measured the accuracy of fine-tuned models on tasks; here it is the loss of the masked-language
--   model itself, on the same masks as for the whole model. increase below 0: the model is better without it.
-- note: rank counts heads and layers apart, and each replacement by itself; equal losses share the lower rank.
-- note: losses are made by attnbank ingest --ablate heads (or layers).
-- column disabled varchar: none, head or layer
-- column layer smallint: 1-based layer; null for none
-- column head smallint: 1-based head; null for none and layer
-- column replacement varchar: what its weights became: uniform (1 / length) or zero; null for none
-- column loss double: mean loss over the masked tokens, in nats
-- column increase double: loss minus that of the whole model
-- column rank bigint: 1 for the largest loss of its kind; null for none
-- column tokens integer: masked tokens that the loss is over
-- column run
with ablation_loss as (
    select ablation.*
    from ablation
    inner join chosen_run on chosen_run.id = ablation.run
)

select
    ablation_loss.disabled, ablation_loss.layer, ablation_loss.head, ablation_loss.replacement, ablation_loss.loss,
    ablation_loss.loss - whole_model.loss as increase,
    case
        when ablation_loss.disabled <> 'none'
            then rank() over (
                partition by ablation_loss.disabled, ablation_loss.replacement order by ablation_loss.loss desc
            )
    end as rank,
    ablation_loss.tokens,
    (select name from chosen_run) as run
from ablation_loss
inner join ablation_loss as whole_model on whole_model.disabled = 'none'
order by
    list_position(['none', 'layer', 'head'], ablation_loss.disabled),
    ablation_loss.replacement, ablation_loss.loss desc, ablation_loss.layer, ablation_loss.head
