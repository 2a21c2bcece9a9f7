-- title: The runs of random weights beside each run, one per seed
-- grain: one row per (run, seed)
-- note: a control is a finished run of random weights of the same architecture, layers and heads, over the same corpus,
--   with the same context, unit, way to merge pieces, measure, and what stands before the text. Those of a model of the
--   same name count before others, then those with its tokenizer, with its part of the corpus, and with its longest
--   input, multiword tokens and edges of words. Of several with one seed it is the newest.
-- note: a run of random weights is one of its own controls; the others are its siblings.
-- column run integer: run.id
-- column control integer: run.id of the control
-- column seed integer: seed of its random weights
with

reading as (
    select
        run.*,
        model.name as model_name,
        model.architecture,
        model.layers as model_layers,
        model.heads as model_heads,
        model.random_seed,
        model.tokenizer_sha256,
        concat(
            'limit ', coalesce(map_extract_value(run.options, 'limit'), ''),
            ' seed ', coalesce(map_extract_value(run.options, 'seed'), ''),
            ' shard ', coalesce(map_extract_value(run.options, 'shard'), ''),
            ' truncate ', coalesce(map_extract_value(run.options, 'truncate'), '')
        ) as part
    from run
    inner join model on model.id = run.model
),

compared as (
    select
        one.id as run,
        control.id as control,
        control.random_seed as seed,
        rank() over (
            partition by one.id
            order by
                case when control.model_name = one.model_name then 0 else 1 end,
                case when control.tokenizer_sha256 is not distinct from one.tokenizer_sha256 then 0 else 1 end,
                case when control.part = one.part then 0 else 1 end,
                case when control.max_tokens = one.max_tokens then 0 else 1 end,
                case when coalesce(control.multiword, 'parts') = coalesce(one.multiword, 'parts') then 0 else 1 end,
                case when coalesce(control.edges, 'cut') = coalesce(one.edges, 'cut') then 0 else 1 end
        ) as likeness
    from reading as one
    inner join reading as control
        on control.corpus = one.corpus
        and control.architecture = one.architecture
        and control.model_layers = one.model_layers
        and control.model_heads = one.model_heads
        and control.context = one.context
        and control.unit = one.unit
        and control.subword = one.subword
        and control.measure is not distinct from one.measure
        and control.first_word is not distinct from one.first_word
        and control.bos is not distinct from one.bos
    where control.random_seed is not null
        and control.finished is not null
),

numbered as (
    select
        compared.*,
        row_number() over (
            partition by compared.run, compared.seed
            order by case when compared.control = compared.run then 0 else 1 end, compared.control desc
        ) as place
    from compared
    where compared.likeness = 1
)

select numbered.run, numbered.control, numbered.seed
from numbered
where numbered.place = 1
