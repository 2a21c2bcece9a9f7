-- The attention maps of some heads (3-1) over one input; a weight that is not kept is null.
select layer, head, from_position, weights, rest
from head_map(sequence := $sequence, heads := $heads) as head_map
order by layer, head, from_position
