-- The runs of a bank, each with its options and what it holds.
with

held as (
    select
        sequence.run,
        count(*) as sequences,
        sum(cast(sequence.positions as bigint) * sequence.positions) as squares,
        sum(cast(sequence.positions as bigint)) as positions,
        sum(cast(sequence.positions as bigint) * least(sequence.positions, top_run.largest)) as largest
    from sequence
    left join top_run on top_run.run = sequence.run
    group by sequence.run
),

seen as (
    select sequence.run, count(distinct word_position.word) as words, count(distinct word.sentence) as sentences
    from word_position
    inner join sequence on sequence.id = word_position.sequence
    inner join word on word.id = word_position.word
    group by sequence.run
),

inner_of_run as (
    select inner_dependency.run, count(*) as inner_dependencies
    from inner_dependency
    group by inner_dependency.run
),

unspelled as (
    select document.corpus, count(*) as tokens
    from multiword_token as token
    inner join sentence on sentence.id = token.sentence
    inner join document on document.id = sentence.document
    where not token.is_spelled
    group by document.corpus
),

measured as (
    select
        surprisal.run,
        count(surprisal.nats) as words,
        count(*) filter (where surprisal.nats is null and surprisal.words = 1) as first_words,
        count(*) filter (where surprisal.nats is null and surprisal.words > 1) as sharing_words
    from surprisal
    group by surprisal.run
),

disabled as (
    select
        ablation_set.run,
        list(distinct ablation_set.ablation order by ablation_set.ablation) as ablations
    from ablation_set
    where ablation_set.finished is not null
    group by ablation_set.run
),

sibling as (
    select control.run, list(control.seed order by control.seed) as seeds
    from control_run() as control
    inner join run on run.id = control.run
    inner join model on model.id = run.model
    where model.random_seed is not null
        and model.random_seed <> control.seed
        and run.finished is not null
    group by control.run
),

left_out as (
    select run.id as run, count(*) as skipped
    from skipped
    inner join run
        on run.corpus = skipped.corpus
        and (skipped.run is null or skipped.run = run.id)
    group by run.id
)

select
    run.id,
    run.name,
    model.name as model,
    corpus.name as corpus,
    run.context,
    run.unit,
    run.subword,
    run.max_tokens,
    run.decimals,
    run.keep,
    run.batch_tokens,
    run.batching,
    map_extract_value(run.options, 'shard') as shard,
    map_extract_value(run.options, 'truncate') as truncate,
    map_extract_value(run.options, 'limit') as "limit",
    map_extract_value(run.options, 'seed') as seed,
    map_extract_value(run.options, 'gradients') as gradients,
    map_extract_value(run.options, 'ablate') as ablate,
    map_extract_value(run.options, 'replacement') as replacement,
    map_extract_value(run.options, 'mask_seed') as mask_seed,
    map_extract_value(run.options, 'earlier_batch_tokens') as earlier_batch_tokens,
    model.random_seed,
    coalesce(sibling.seeds, []) as sibling_seeds,
    cast(coalesce(held.sequences, 0) as bigint) as sequences,
    cast(coalesce(seen.sentences, 0) as bigint) as sentences,
    cast(coalesce(seen.words, 0) as bigint) as words,
    cast(
        case
            when run.keep = 'peaks' then 0
            else coalesce(coalesce(held.largest, held.squares) * model.layers * coalesce(run.heads, model.heads), 0)
        end as bigint
    ) as weights,
    cast(coalesce(held.positions * model.layers * coalesce(run.heads, model.heads), 0) as bigint) as distributions,
    cast(coalesce(left_out.skipped, 0) as bigint) as skipped,
    run.batches,
    run.device,
    run.code_version,
    run.started,
    run.finished,
    run.reading,
    run.unknown_words,
    coalesce(run.edges, 'cut') as edges,
    run.joined_words,
    case when unspelled.tokens > 0 or run.multiword = 'parts' then coalesce(run.multiword, 'parts') end as multiword,
    cast(coalesce(inner_of_run.inner_dependencies, 0) as bigint) as inner_dependencies,
    run.first_word,
    run.bos,
    run.measure,
    run.heads,
    run.misspelled_words,
    cast(coalesce(measured.words, 0) as bigint) as surprisals,
    cast(coalesce(measured.first_words, 0) as bigint) as first_words,
    cast(coalesce(measured.sharing_words, 0) as bigint) as sharing_words,
    coalesce(disabled.ablations, []) as ablations
from run
inner join model on model.id = run.model
inner join corpus on corpus.id = run.corpus
left join held on held.run = run.id
left join seen on seen.run = run.id
left join measured on measured.run = run.id
left join disabled on disabled.run = run.id
left join sibling on sibling.run = run.id
left join left_out on left_out.run = run.id
left join unspelled on unspelled.corpus = run.corpus
left join inner_of_run on inner_of_run.run = run.id
order by run.id
