-- title: The runs of one model over every corpus with trees, one per corpus
-- grain: one row per corpus
-- run: unit=word needs=trees usual=sentence
-- note: the runs that are like the one that answers: its model, context, unit, way to merge pieces, and what stands
--   before the text. Of several over one corpus: itself, else one over the whole corpus, one that reads multiword tokens
--   and the edges of words alike, the one that the bank prefers, the newest. With is_control they are of the newest
--   model of random weights and the same build.
-- param run, corpora
-- param is_control boolean = false: the runs of random weights instead
-- column id integer: run.id
-- column name, corpus, language
with

anchor as (
    select run.*, model.layers as model_layers, model.heads as model_heads
    from run
    inner join chosen_run on chosen_run.id = run.id
    inner join model on model.id = run.model
),

control_model as (
    select max(model.id) as id
    from model
    inner join anchor
        on anchor.model_layers = model.layers
        and anchor.model_heads = model.heads
        and anchor.model <> model.id
    where model.random_seed is not null
        and model.id in (select run.model from run where run.finished is not null)
),

like_anchor as (
    select
        run.id,
        run.name,
        run.corpus,
        row_number() over (
            partition by run.corpus
            order by
                case when run.id = anchor.id then 0 else 1 end,
                case when map_extract_value(run.options, 'limit') is null then 0 else 1 end,
                case when coalesce(run.multiword, 'parts') = coalesce(anchor.multiword, 'parts') then 0 else 1 end,
                case when coalesce(run.edges, 'cut') = coalesce(anchor.edges, 'cut') then 0 else 1 end,
                case when preferred_run.run is null then 1 else 0 end,
                run.id desc
        ) as place
    from run
    inner join anchor
        on anchor.context = run.context
        and anchor.subword = run.subword
        and anchor.measure is not distinct from run.measure
        and anchor.first_word is not distinct from run.first_word
        and anchor.bos is not distinct from run.bos
    left join preferred_run on preferred_run.run = run.id
    where run.unit = 'word'
        and run.finished is not null
        and run.model = case when $is_control then (select control_model.id from control_model) else anchor.model end
        and list_contains(runs_with_trees(), run.id)
)

select like_anchor.id, like_anchor.name, corpus.name as corpus, corpus.language
from like_anchor
inner join corpus on corpus.id = like_anchor.corpus
where like_anchor.place = 1
    and ($corpora is null or list_contains($corpora, corpus.name))
