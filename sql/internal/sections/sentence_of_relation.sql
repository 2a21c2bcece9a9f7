-- The longest sentence of 6 to 14 words with a relation, among those that a run has read whole; of equals the first.
select sentence.id
from sentence
inner join dependency on dependency.sentence = sentence.id
inner join word_position on word_position.word = dependency.dependent
inner join sequence
    on sequence.id = word_position.sequence
    and sequence.run = $run
where (dependency.relation = $relation or starts_with(dependency.relation, concat($relation, ':')))
    and sentence.words between 6 and 14
group by sentence.id, sentence.words
order by sentence.words desc, sentence.id
limit 1
