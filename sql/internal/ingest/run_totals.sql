-- What a run holds: sequences, the words and sentences among their positions, and weights.
select
    count(*) as sequences,
    cast(coalesce(sum(sequence.positions), 0) as bigint) as positions,
    cast(coalesce(sum(
        cast(sequence.positions as bigint) * sequence.positions * model.layers * model.heads
    ), 0) as bigint) as weights,
    (
        select count(distinct position.word)
        from position
        inner join sequence as own on own.id = position.sequence
        where own.run = $run and position.word is not null
    ) as words,
    (
        select count(distinct word.sentence)
        from position
        inner join sequence as own on own.id = position.sequence
        inner join word on word.id = position.word
        where own.run = $run
    ) as sentences
from sequence
inner join run on run.id = sequence.run
inner join model on model.id = run.model
where sequence.run = $run
