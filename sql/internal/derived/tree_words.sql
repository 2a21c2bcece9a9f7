-- The words of a run that a tree spans, in order: one row per position of these kinds.
select distinct sequence.id as sequence, word.sentence, word_position.position
from sequence
inner join word_position on word_position.sequence = sequence.id
inner join word on word.id = word_position.word
where sequence.run = $run
    and list_contains($kinds, word_position.kind)
order by sequence.id, word.sentence, word_position.position
