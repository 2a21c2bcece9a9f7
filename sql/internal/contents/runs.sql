-- The runs of a bank, with their options and sizes.
with part_total as (
    select
        run,
        sum(batches) as batches,
        max(batch_tokens) as batch_tokens,
        string_agg(distinct device, ' + ' order by device) as device,
        sum(unknown_words) as unknown_words,
        sum(joined_words) as joined_words,
        sum(misspelled_words) as misspelled_words,
        string_agg(
            array_to_string(
                list_transform(
                    earlier_batch_tokens, lambda earlier: concat(earlier.last_batch, ':', earlier.batch_tokens)
                ),
                ' '
            ),
            '; ' order by shard
        ) as earlier_batch_tokens
    from run_part
    group by all
),

-- squares are the weights of one head in a layer, and largest those of them that --keep top:K keeps.
input_size as (
    select
        sequence.run,
        count(*) as sequences,
        sum(cast(sequence.positions as bigint) * sequence.positions) as squares,
        sum(cast(sequence.positions as bigint)) as positions,
        sum(cast(sequence.positions as bigint) * least(sequence.positions, top_run.largest)) as largest
    from sequence
    left join top_run on top_run.run = sequence.run
    group by all
),

text_size as (
    select sequence.run, count(distinct word_position.word) as words, count(distinct word.sentence) as sentences
    from word_position
    inner join sequence on sequence.id = word_position.sequence
    inner join word on word.id = word_position.word
    group by all
),

inner_count as (
    select run, count(*) as inner_dependencies
    from inner_dependency
    group by all
),

token_count as (
    select document.corpus, count(*) as tokens
    from multiword_token as token
    inner join sentence on sentence.id = token.sentence
    inner join document on document.id = sentence.document
    where not token.is_spelled
    group by all
),

surprisal_count as (
    select
        run,
        count(nats) as words,
        count(*) filter (where nats is null and words = 1) as first_words,
        count(*) filter (where nats is null and words > 1) as sharing_words
    from surprisal
    group by all
),

ablation_list as (
    select run, list(distinct ablation order by ablation) as ablations
    from ablation_set
    where finished is not null
    group by all
),

sibling_list as (
    select control.run, list(control.seed order by control.seed) as seeds
    from control_run() as control
    inner join run on run.id = control.run
    inner join model on model.id = run.model
    where model.random_seed is not null
        and model.random_seed <> control.seed
        and run.finished is not null
    group by all
),

skipped_count as (
    select run.id as run, count(*) as skipped
    from skipped
    inner join run
        on run.corpus = skipped.corpus
        and (skipped.run is null or skipped.run = run.id)
    group by all
)

select
    run.id, run.name,
    model.name as model,
    corpus.name as corpus,
    run.context, run.unit, run.subword, run.max_tokens, run.decimals, run.keep, part_total.batch_tokens, run.batching,
    run.shard, run.truncate, run."limit", run.seed, run.gradients, run.ablate, run.replacement, run.mask_seed,
    part_total.earlier_batch_tokens,
    model.random_seed,
    coalesce(sibling_list.seeds, []) as sibling_seeds,
    cast(coalesce(input_size.sequences, 0) as bigint) as sequences,
    cast(coalesce(text_size.sentences, 0) as bigint) as sentences,
    cast(coalesce(text_size.words, 0) as bigint) as words,
    cast(
        case
            when run.keep = 'peaks' then 0
            else coalesce(
                coalesce(input_size.largest, input_size.squares) * model.layers * coalesce(run.heads, model.heads), 0
            )
        end as bigint
    ) as weights,
    cast(
        coalesce(input_size.positions * model.layers * coalesce(run.heads, model.heads), 0) as bigint
    ) as distributions,
    cast(coalesce(skipped_count.skipped, 0) as bigint) as skipped,
    cast(part_total.batches as bigint) as batches,
    part_total.device, run.code_version, run.started, run.finished, run.reading,
    cast(part_total.unknown_words as bigint) as unknown_words,
    coalesce(run.edges, 'cut') as edges,
    cast(part_total.joined_words as bigint) as joined_words,
    case when token_count.tokens > 0 or run.multiword = 'parts' then coalesce(run.multiword, 'parts') end as multiword,
    cast(coalesce(inner_count.inner_dependencies, 0) as bigint) as inner_dependencies,
    run.first_word, run.bos, run.measure, run.heads,
    cast(part_total.misspelled_words as bigint) as misspelled_words,
    cast(coalesce(surprisal_count.words, 0) as bigint) as surprisals,
    cast(coalesce(surprisal_count.first_words, 0) as bigint) as first_words,
    cast(coalesce(surprisal_count.sharing_words, 0) as bigint) as sharing_words,
    coalesce(ablation_list.ablations, []) as ablations
from run
inner join model on model.id = run.model
inner join corpus on corpus.id = run.corpus
left join part_total on part_total.run = run.id
left join input_size on input_size.run = run.id
left join text_size on text_size.run = run.id
left join surprisal_count on surprisal_count.run = run.id
left join ablation_list on ablation_list.run = run.id
left join sibling_list on sibling_list.run = run.id
left join skipped_count on skipped_count.run = run.id
left join token_count on token_count.corpus = run.corpus
left join inner_count on inner_count.run = run.id
order by run.id
