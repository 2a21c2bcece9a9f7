-- The gold dependencies of a run between words of its trees in order, and its roots among these, whose head_position is
-- null. Those on odd numbers are the half on which heads are chosen. A first word that is set apart is in no tree. A
-- root of a causal run is scored in no direction (its side is null) and is the root of its tree all the same.
select
    pair.sequence, pair.sentence, pair.position, pair.head_position, pair.relation, pair.is_root,
    pair.cluster % 2 = 1 as is_chosen_on
from gold_pair(runs := [$run]) as pair
inner join word_position
    on word_position.sequence = pair.sequence
    and word_position.word = pair.dependent
where word_position.kind = 'word'
    and (pair.is_root or (pair.side is not null and pair.head_position is not null))
order by pair.sequence, pair.sentence, pair.dependent
