-- Those of some sentences that an input of the run has words of.
select distinct word.sentence
from word
inner join word_position on word_position.word = word.id
inner join sequence on sequence.id = word_position.sequence
where sequence.run = $run
    and word.sentence in (select unnest($sentences))
order by word.sentence
