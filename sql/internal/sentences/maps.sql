-- The attention maps of some heads (3-1) over one input, with null for weights that are not kept, and the sum of those;
-- of a run that keeps its peaks only these, and no sum.
with wanted_head as (
    select cast(split_part(text, '-', 1) as smallint) as layer, cast(split_part(text, '-', 2) as smallint) as head
    from (select unnest($heads) as text) as name
),

wanted_peak as (
    select peak.*
    from peak
    inner join wanted_head on wanted_head.layer = peak.layer and wanted_head.head = peak.head
    where peak.sequence = $sequence
),

peak_weight as (
    select layer, head, position as from_position, most_attended as to_position, most_attended_weight as weight
    from wanted_peak
    union
    select layer, head, most_attending as from_position, position as to_position, most_attending_weight as weight
    from wanted_peak
),

peak_map as (
    select
        wanted_head.layer, wanted_head.head,
        position.position as from_position,
        weights_by_position(
            list(peak_weight.to_position order by peak_weight.to_position),
            list(peak_weight.weight order by peak_weight.to_position),
            cast(null as float),
            any_value(sequence.positions)
        ) as weights
    from position
    inner join sequence on sequence.id = position.sequence
    inner join run on run.id = sequence.run
    cross join wanted_head
    left join peak_weight
        on peak_weight.layer = wanted_head.layer
        and peak_weight.head = wanted_head.head
        and peak_weight.from_position = position.position
        and peak_weight.to_position is not null
    where position.sequence = $sequence and run.keep = 'peaks'
    group by all
)

select distribution.layer, distribution.head, distribution.from_position, distribution.weights, distribution.rest
from distribution
inner join wanted_head on wanted_head.layer = distribution.layer and wanted_head.head = distribution.head
where distribution.sequence = $sequence
union all
select layer, head, from_position, weights, null as rest
from peak_map
order by layer, head, from_position
