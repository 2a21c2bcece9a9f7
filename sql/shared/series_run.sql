-- title: The runs of all checkpoints of one training, one per step
-- grain: one row per step
-- note: the runs that are like the one of the id: over its corpus, with its context, unit and way to merge pieces,
--   what is kept and what stands before the text. Of several of one step itself, else the newest.
-- param anchor integer = null: run.id of a run of one of the checkpoints
-- column id integer: run.id
-- column name
-- column step bigint: step of the training
-- column tokens_seen bigint: tokens that the model had seen by then; null where that is not known
with

asked as (
    select run.*, model.series
    from run
    inner join model on model.id = run.model
    where run.id = $anchor
),

like_anchor as (
    select
        run.id,
        run.name,
        model.step,
        model.tokens_seen,
        row_number() over (
            partition by model.step order by case when run.id = asked.id then 0 else 1 end, run.id desc
        ) as place
    from run
    inner join model on model.id = run.model
    inner join asked
        on asked.corpus = run.corpus
        and asked.series = model.series
        and asked.context = run.context
        and asked.unit = run.unit
        and asked.subword = run.subword
        and asked.max_tokens = run.max_tokens
        and asked.keep is not distinct from run.keep
        and asked.multiword is not distinct from run.multiword
        and asked.edges is not distinct from run.edges
        and asked.measure is not distinct from run.measure
        and asked.first_word is not distinct from run.first_word
        and asked.bos is not distinct from run.bos
    where run.finished is not null
        and model.step is not null
        and map_extract_value(run.options, 'limit') is not distinct from map_extract_value(asked.options, 'limit')
        and map_extract_value(run.options, 'seed') is not distinct from map_extract_value(asked.options, 'seed')
)

select like_anchor.id, like_anchor.name, like_anchor.step, like_anchor.tokens_seen
from like_anchor
where like_anchor.place = 1
