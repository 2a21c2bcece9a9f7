-- title: The control runs of each run: the same with random weights, one per seed
-- grain: one row per (run, seed)
-- note: a control is a finished run of random weights of the same architecture, layers and heads, over the same corpus,
--   with the same context, unit, way to merge pieces, measure and bos. Preferred are those of a model of the same name,
--   then those with its tokenizer, its part of the corpus, and its longest input, multiword tokens and edges of words.
--   Of several with one seed the newest is taken.
-- note: a run of random weights is one of its own controls; the others are its siblings.
-- column run integer: run.id
-- column control integer: run.id of the control
-- column seed integer: seed of its random weights
with described_run as (
    select
        run.*,
        model.name as model_name,
        model.architecture,
        model.layers as model_layers,
        model.heads as model_heads,
        model.random_seed, model.tokenizer_sha256
    from run
    inner join model on model.id = run.model
),

likest_control as (
    select own_run.id as run, control.id as control, control.random_seed as seed
    from described_run as own_run
    inner join described_run as control
        on control.corpus = own_run.corpus
        and control.architecture = own_run.architecture
        and control.model_layers = own_run.model_layers
        and control.model_heads = own_run.model_heads
        and control.context = own_run.context
        and control.unit = own_run.unit
        and control.subword = own_run.subword
        and control.measure is not distinct from own_run.measure
        and control.first_word is not distinct from own_run.first_word
        and control.bos is not distinct from own_run.bos
    where control.random_seed is not null
        and control.finished is not null
    qualify rank() over (
        partition by own_run.id
        order by
            case when control.model_name = own_run.model_name then 0 else 1 end,
            case when control.tokenizer_sha256 is not distinct from own_run.tokenizer_sha256 then 0 else 1 end,
            case
                when control."limit" is not distinct from own_run."limit"
                    and control.seed is not distinct from own_run.seed
                    and control.shard is not distinct from own_run.shard
                    and control.truncate is not distinct from own_run.truncate
                    then 0
                else 1
            end,
            case when control.max_tokens = own_run.max_tokens then 0 else 1 end,
            case when coalesce(control.multiword, 'parts') = coalesce(own_run.multiword, 'parts') then 0 else 1 end,
            case when coalesce(control.edges, 'cut') = coalesce(own_run.edges, 'cut') then 0 else 1 end
    ) = 1
)

select run, control, seed
from likest_control
qualify row_number() over (partition by run, seed order by case when control = run then 0 else 1 end, control desc) = 1
