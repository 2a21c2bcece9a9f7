-- The distances between the heads of a run, divided by its tokens.
select layer_a, head_a, layer_b, head_b, js_divergence / n_tokens as distance
from head_distance
where run = $run
    and smoothing = $smoothing
