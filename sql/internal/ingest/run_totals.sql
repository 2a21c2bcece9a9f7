-- What a run holds: sequences, the words and sentences among their positions, weights; and what its corpus and its
-- reading leave out of the words and the trees.
select
    count(*) as sequences,
    cast(coalesce(sum(sequence.positions), 0) as bigint) as positions,
    cast(coalesce(sum(
        cast(sequence.positions as bigint) * sequence.positions * model.layers * model.heads
    ), 0) as bigint) as weights,
    (
        select count(distinct word_position.word)
        from word_position
        inner join sequence as own on own.id = word_position.sequence
        where own.run = $run
    ) as words,
    (
        select count(distinct word.sentence)
        from position
        inner join sequence as own on own.id = position.sequence
        inner join word on word.id = position.word
        where own.run = $run
    ) as sentences,
    (
        select count(*)
        from inner_dependency
        where inner_dependency.run = $run
    ) as inner_dependencies,
    (
        select cast(coalesce(sum(sentence.empty_nodes), 0) as bigint)
        from sentence
        inner join document on document.id = sentence.document
        inner join run as own on own.corpus = document.corpus
        where own.id = $run
    ) as empty_nodes
from sequence
inner join run on run.id = sequence.run
inner join model on model.id = run.model
where sequence.run = $run
