-- title: The runs of all checkpoints of one training, one per step
-- grain: one row per step
-- note: the runs of the same series over the same corpus with the same options as the run anchor. Of several of one
--   step: anchor itself, else the newest.
-- param anchor integer = null: run.id of a run of one of the checkpoints
-- column id integer: run.id
-- column name, step, tokens_seen
select run.id, run.name, model.step, model.tokens_seen
from run
inner join model on model.id = run.model
inner join run as anchor
    on anchor.corpus = run.corpus
    and anchor.context = run.context
    and anchor.unit = run.unit
    and anchor.subword = run.subword
    and anchor.max_tokens = run.max_tokens
    and anchor.keep is not distinct from run.keep
    and anchor.multiword is not distinct from run.multiword
    and anchor.edges is not distinct from run.edges
    and anchor.measure is not distinct from run.measure
    and anchor.first_word is not distinct from run.first_word
    and anchor.bos is not distinct from run.bos
inner join model as anchor_model
    on anchor_model.id = anchor.model
    and anchor_model.series = model.series
where anchor.id = $anchor
    and run.finished is not null
    and model.step is not null
    and run."limit" is not distinct from anchor."limit"
    and run.seed is not distinct from anchor.seed
qualify row_number() over (
    partition by model.step order by case when run.id = anchor.id then 0 else 1 end, run.id desc
) = 1
