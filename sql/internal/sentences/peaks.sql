-- The position that each word of an input attends to most, and the one that attends to it most, by some heads (3-1).
select layer, head, position, most_attended, most_attended_weight, most_attending, most_attending_weight
from head_peak(sequence := $sequence, heads := $heads) as peak
order by layer, head, position
