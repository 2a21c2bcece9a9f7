-- The attention maps of some heads (3-1) over one input.
select attention.layer, attention.head, attention.from_position, attention.weights
from attention
where attention.sequence = $sequence
    and concat(cast(attention.layer as varchar), '-', cast(attention.head as varchar)) in (select unnest($heads))
order by attention.layer, attention.head, attention.from_position
