-- The attention maps of some consecutive sequences of a run, in the order (sequence, layer, head, from).
select distribution.weights
from distribution
inner join sequence on sequence.id = distribution.sequence
where distribution.sequence between $first and $last
    and sequence.run = $run
order by distribution.sequence, distribution.layer, distribution.head, distribution.from_position
