-- The attention maps of some heads (3-1) over some inputs; a weight that is not kept is null.
select sequence, layer, head, from_position, weights, rest
from head_map(sequences := $sequences, heads := $heads) as head_map
order by sequence, layer, head, from_position
