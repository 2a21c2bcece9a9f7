-- The sentences that an input of a run has a word of, in the order of the text, each with its name or else its number.
select distinct sentence.id, coalesce(sentence.name, place_name(sentence.id)) as name
from sentence
inner join word on word.sentence = sentence.id
inner join word_position on word_position.word = word.id
inner join sequence on sequence.id = word_position.sequence
where sequence.run = $run
order by sentence.id
