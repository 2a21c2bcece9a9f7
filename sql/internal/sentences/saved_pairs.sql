-- The pairs of a saved relation whose dependent is in one of the given sentences.
select saved_pair.word, saved_pair.head_word
from saved_pair
inner join word on word.id = saved_pair.word
where saved_pair.relation = $relation
    and word.sentence in (select unnest($sentences))
order by saved_pair.word, saved_pair.head_word
