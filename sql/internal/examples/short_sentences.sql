-- Sentences of a run of 5 to 14 words, in the order of a hash, so that they are spread over the text.
select
    sentence.id as sentence,
    coalesce(sentence.name, place_name(sentence.id)) as sent_id
from sequence
inner join word_position on word_position.sequence = sequence.id
inner join word on word.id = word_position.word
inner join sentence on sentence.id = word.sentence
where sequence.run = $run
group by sentence.id, sentence.name
having count(distinct word.id) between 5 and 14
order by hash(sentence.id), sentence.id
limit $most
