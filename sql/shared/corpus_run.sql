-- title: The runs of one model over every corpus with trees, one per corpus
-- grain: one row per corpus; with is_control, per (corpus, seed)
-- run: unit=word needs=trees usual=sentence
-- note: the runs with the same model, context, unit, way to merge pieces, measure, first_word and bos as the run of the
--   analysis. Of several over one corpus: that run itself, else one over the whole corpus, one that reads multiword
--   tokens and the edges of words in the same way, the default run of the bank, the newest.
-- param run, corpora
-- param is_control boolean = false: the controls of these runs instead, one per seed of random weights (control_run);
--   those of a run of random weights are its siblings
-- column id integer: run.id
-- column name, corpus, language
-- column seed integer: seed of the random weights of a control; null unless is_control
with like_anchor as (
    select run.id
    from run
    inner join run as anchor
        on anchor.context = run.context
        and anchor.subword = run.subword
        and anchor.measure is not distinct from run.measure
        and anchor.first_word is not distinct from run.first_word
        and anchor.bos is not distinct from run.bos
    inner join run_capability
        on run_capability.run = run.id
        and run_capability.capability = 'trees'
    inner join chosen_run on chosen_run.id = anchor.id
    left join preferred_run on preferred_run.run = run.id
    where run.unit = 'word'
        and run.finished is not null
        and run.model = anchor.model
    qualify row_number() over (
        partition by run.corpus
        order by
            case when run.id = anchor.id then 0 else 1 end,
            case when run."limit" is null then 0 else 1 end,
            case when coalesce(run.multiword, 'parts') = coalesce(anchor.multiword, 'parts') then 0 else 1 end,
            case when coalesce(run.edges, 'cut') = coalesce(anchor.edges, 'cut') then 0 else 1 end,
            case when preferred_run.run is null then 1 else 0 end,
            run.id desc
    ) = 1
)

select run.id, run.name, corpus.name as corpus, corpus.language, control.seed
from like_anchor
left join control_run() as control
    on $is_control
    and control.run = like_anchor.id
    and control.control <> like_anchor.id
inner join run on run.id = case when $is_control then control.control else like_anchor.id end
inner join corpus on corpus.id = run.corpus
where $corpora is null or list_contains($corpora, corpus.name)
