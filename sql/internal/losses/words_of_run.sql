-- The words that a run read, also those that share a position with the word before them.
select word_position.word
from word_position
inner join sequence on sequence.id = word_position.sequence
where sequence.run = $run
