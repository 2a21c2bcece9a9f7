-- The gold dependencies of a run in order, and its roots, whose head_position is null. Those on odd numbers are the half
-- on which heads are chosen.
select
    pair.sequence,
    pair.sentence,
    pair.position,
    pair.head_position,
    pair.relation,
    pair.is_root,
    pair.cluster % 2 = 1 as is_chosen_on
from gold_pair(runs := [$run], subtypes := false, possessive := false) as pair
where pair.side is not null
    and (pair.is_root or pair.head_position is not null)
order by pair.sequence, pair.sentence, pair.dependent
