-- The distances between the heads of a run, divided by its tokens.
select
    head_distance.layer_a,
    head_distance.head_a,
    head_distance.layer_b,
    head_distance.head_b,
    head_distance.js_divergence / head_distance.n_tokens as distance
from head_distance
where head_distance.run = $run
    and head_distance.smoothing = $smoothing
