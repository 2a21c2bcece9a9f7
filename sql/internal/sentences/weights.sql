-- The weights of some heads (3-1), or of their mean, between the positions of an input that are shown; and to null the
-- sum of those to words that are not shown and of those that are not kept (rest).
with wanted_map as (
    select head_map.*
    from head_map(sequence := $sequence, heads := $heads, mean := $mean) as head_map
    where list_contains($shown, from_position)
),

other_word as (
    select list(position order by position) as positions
    from position
    where sequence = $sequence
        and kind in ('word', 'token')
        and not list_contains($shown, position)
)

select
    wanted_map.layer, wanted_map.head, wanted_map.from_position,
    position.position as to_position,
    list_extract(wanted_map.weights, position.position + 1) as weight,
    wanted_map.rest
from wanted_map
cross join position
where position.sequence = $sequence
    and list_contains($shown, position.position)
union all
select
    wanted_map.layer, wanted_map.head, wanted_map.from_position,
    null as to_position,
    wanted_map.rest + coalesce(list_sum(weights_at(wanted_map.weights, other_word.positions)), 0) as weight,
    wanted_map.rest
from wanted_map
cross join other_word
where wanted_map.rest > 0
    or wanted_map.rest = 0 and other_word.positions is not null
order by layer, head, from_position, to_position nulls last
