-- How many positions of a run's inputs have a first word without a row in table surprisal.
select count(*) as words
from position
inner join sequence on sequence.id = position.sequence
anti join surprisal
    on surprisal.run = $run
    and surprisal.word = position.word
where sequence.run = $run
    and position.word is not null
