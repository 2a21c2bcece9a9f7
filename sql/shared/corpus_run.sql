-- title: The runs of one model over every corpus with trees, one per corpus
-- grain: one row per corpus
-- note: the runs that are like the one that answers: its model, context, unit and way to merge pieces. Of several over
--   one corpus: itself, else one over the whole corpus, one that reads multiword tokens alike, the one that the bank
--   prefers, the newest. With is_control they are of the newest model of random weights and the same build.
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param corpora varchar[] = null: names of the corpora; null for all
-- param is_control boolean = false: the runs of random weights instead
-- column id integer: run.id
-- column name varchar: name of the run
-- column corpus varchar: name of the corpus
-- column language varchar: its language; null where it is not known
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

anchor as (
    select
        run.id,
        run.model,
        run.context,
        run.subword,
        coalesce(run.multiword, 'parts') as multiword,
        model.layers,
        model.heads
    from run
    inner join chosen_run on chosen_run.id = run.id
    inner join model on model.id = run.model
),

control_model as (
    select max(model.id) as id
    from model
    inner join anchor
        on anchor.layers = model.layers
        and anchor.heads = model.heads
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
                case when coalesce(run.multiword, 'parts') = anchor.multiword then 0 else 1 end,
                case when preferred_run.run is null then 1 else 0 end,
                run.id desc
        ) as place
    from run
    inner join anchor
        on anchor.context = run.context
        and anchor.subword = run.subword
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
