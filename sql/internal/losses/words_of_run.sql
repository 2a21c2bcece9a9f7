-- The words that a run read, the first of those that share a position.
select position.word
from position
inner join sequence on sequence.id = position.sequence
where sequence.run = $run
    and position.word is not null
