-- The attention maps of some consecutive sequences of a run, in the order (sequence, layer, head, from).
select attention.weights
from attention
inner join sequence on sequence.id = attention.sequence
where attention.sequence between $first and $last
    and sequence.run = $run
order by attention.sequence, attention.layer, attention.head, attention.from_position
