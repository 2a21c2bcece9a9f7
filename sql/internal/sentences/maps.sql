-- The attention maps of some heads (3-1) over one input, with null for what is not kept, and the sum of that.
select distribution.layer, distribution.head, distribution.from_position, distribution.weights, distribution.rest
from distribution
where distribution.sequence = $sequence
    and concat(cast(distribution.layer as varchar), '-', cast(distribution.head as varchar)) in (select unnest($heads))
order by distribution.layer, distribution.head, distribution.from_position
