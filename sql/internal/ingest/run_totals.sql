-- The sizes of a run for the report on it, and what its corpus and its options leave out of the words and the trees.
with run_input as (
    select id, cast(positions as bigint) as positions
    from sequence
    where run = $run
),

text_size as (
    select count(distinct word.sentence) as sentences, count(distinct word.id) as words
    from word_position
    inner join run_input on run_input.id = word_position.sequence
    inner join word on word.id = word_position.word
),

part_total as (
    select
        cast(sum(batches) as integer) as batches,
        cast(sum(unknown_words) as integer) as unknown_words,
        cast(sum(joined_words) as integer) as joined_words
    from run_part
    where run = $run
)

select
    corpus.id as corpus_id,
    corpus.name as corpus,
    run.name as run,
    (select count(*) from run_input) as inputs,
    text_size.sentences, text_size.words,
    (select cast(coalesce(sum(positions * positions), 0) as bigint) from run_input)
    * model.layers * coalesce(run.heads, model.heads) as weights,
    part_total.batches, part_total.unknown_words, part_total.joined_words,
    coalesce(run.edges, 'cut') as edges,
    (select count(*) from inner_dependency where run = $run) as inner_dependencies,
    (
        select cast(coalesce(sum(sentence.empty_nodes), 0) as bigint)
        from sentence
        inner join document on document.id = sentence.document
        where document.corpus = run.corpus
    ) as empty_nodes,
    run.keep, run.first_word, run.bos, run.batching, run.measure, model.sinks, model.sliding_window, model.layer_numbers
from run
inner join corpus on corpus.id = run.corpus
inner join model on model.id = run.model
cross join part_total
cross join text_size
where run.id = $run
