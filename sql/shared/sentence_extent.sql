-- title: Where each sentence of some runs begins and ends in their inputs
-- grain: one row per (sequence, sentence)
-- param runs
-- column sequence, sentence, first_position, last_position
select
    position.sequence, word.sentence,
    min(position.position) as first_position,
    max(position.position) as last_position
from sequence
inner join position on position.sequence = sequence.id
inner join word on word.id = position.word
where list_contains($runs, sequence.run)
group by all
