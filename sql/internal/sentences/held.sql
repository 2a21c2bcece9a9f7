-- Those of some sentences that an input of the run holds.
select distinct word.sentence
from word
inner join position on position.word = word.id
inner join sequence on sequence.id = position.sequence
where sequence.run = $run
    and word.sentence in (select unnest($sentences))
order by word.sentence
