-- The sequences of a run and their lengths, in order.
select id, positions
from sequence
where run = $run
order by id
