-- title: How sure each head of a run is of its maxima, and at which offset most of them are
-- grain: one row per (layer, head)
-- note: head_function says what is counted, and why.
-- param run integer = null: run.id of the run
-- column layer, head
-- column confidence double: mean of the largest weight of a position
-- column positional double: share of maxima at the commonest offset
-- column offset integer: that offset: 1 is the next position; of equals the nearest, then the left one
-- column positions bigint: positions whose maxima are counted
with offset_count as (
    select
        layer, head,
        cast(to_position as integer) - from_position as distance,
        sum(cast(weight as double)) as weight,
        count(*) as n
    from map_maximum(run := $run) as maximum
    group by all
)

select
    layer, head,
    sum(weight) / cast(sum(n) as double) as confidence,
    ratio(max(n), sum(n)) as positional,
    arg_max(distance, (n, -abs(distance), -distance)) as "offset",
    cast(sum(n) as bigint) as positions
from offset_count
group by all
