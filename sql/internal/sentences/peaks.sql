-- The position that each word of some inputs attends to most, and the one that attends to it most, by some heads (3-1).
select sequence, layer, head, position, most_attended, most_attended_weight, most_attending, most_attending_weight
from head_peak(sequences := $sequences, heads := $heads) as peak
order by sequence, layer, head, position
