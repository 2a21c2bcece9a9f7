-- The pairs of a saved relation of which one word stands in a sentence.
select saved_pair.word, saved_pair.head_word
from saved_pair
inner join word on word.id = saved_pair.word
where saved_pair.relation = $relation
    and word.sentence = $sentence
order by saved_pair.word, saved_pair.head_word
