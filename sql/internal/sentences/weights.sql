-- The weights of some heads (3-1), or of their mean, between the positions of an input that are shown. Where to_position is
-- null, the weight is the sum of those to words that are not shown and of those that are not kept. is_whole says whether
-- every weight of these maps is kept, also between words that are not shown.
with wanted_map as (
    select head_map.*
    from head_map(sequences := [$sequence], heads := $heads, mean := $mean) as head_map
),

kept as (
    select count(rest) = count(*) and max(rest) = 0 as is_whole
    from wanted_map
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
    kept.is_whole
from wanted_map
cross join position
cross join kept
where list_contains($shown, wanted_map.from_position)
    and position.sequence = $sequence
    and list_contains($shown, position.position)
union all
select
    wanted_map.layer, wanted_map.head, wanted_map.from_position,
    null as to_position,
    wanted_map.rest + coalesce(list_sum(weights_at(wanted_map.weights, other_word.positions)), 0) as weight,
    kept.is_whole
from wanted_map
cross join other_word
cross join kept
where list_contains($shown, wanted_map.from_position)
    and (wanted_map.rest > 0 or wanted_map.rest = 0 and other_word.positions is not null)
order by layer, head, from_position, to_position nulls last
