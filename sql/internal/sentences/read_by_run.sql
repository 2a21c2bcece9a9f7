-- Those of some sentences that an input of the run has words of, each with its name or else its number.
select distinct word.sentence, coalesce(sentence.name, place_name(sentence.id)) as name
from sentence
inner join word on word.sentence = sentence.id
inner join word_position on word_position.word = word.id
inner join sequence on sequence.id = word_position.sequence
where sequence.run = $run
    and sentence.id in (select unnest($sentences))
order by word.sentence
