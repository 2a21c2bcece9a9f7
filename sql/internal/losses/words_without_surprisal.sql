-- How many positions of a run's inputs have a first word without a row in table surprisal.
select count(*) as words
from position
inner join sequence on sequence.id = position.sequence
where sequence.run = $run
    and position.word is not null
    and not exists (
        from surprisal
        where surprisal.run = $run
            and surprisal.word = position.word
    )
