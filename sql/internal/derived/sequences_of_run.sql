-- The sequences of a run and their lengths, in order.
select sequence.id, sequence.positions
from sequence
where sequence.run = $run
order by sequence.id
