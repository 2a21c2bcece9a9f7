-- The attention maps of some heads (3-1) over one input, with null for what is not kept, and the sum of that; of a run that
-- keeps its peaks, these alone, and no sum.
with

asked as (
    select
        cast(split_part(name.text, '-', 1) as smallint) as layer,
        cast(split_part(name.text, '-', 2) as smallint) as head
    from (select unnest($heads) as text) as name
),

asked_peak as (
    select peak.*
    from peak
    inner join asked on asked.layer = peak.layer and asked.head = peak.head
    where peak.sequence = $sequence
),

peak_weight as (
    select
        asked_peak.layer,
        asked_peak.head,
        asked_peak.position as from_position,
        asked_peak.most_attended as to_position,
        asked_peak.most_attended_weight as weight
    from asked_peak
    union
    select
        asked_peak.layer,
        asked_peak.head,
        asked_peak.most_attending as from_position,
        asked_peak.position as to_position,
        asked_peak.most_attending_weight as weight
    from asked_peak
),

peak_map as (
    select
        asked.layer,
        asked.head,
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
    cross join asked
    left join peak_weight
        on peak_weight.layer = asked.layer
        and peak_weight.head = asked.head
        and peak_weight.from_position = position.position
        and peak_weight.to_position is not null
    where position.sequence = $sequence and run.keep = 'peaks'
    group by asked.layer, asked.head, position.position
)

select distribution.layer, distribution.head, distribution.from_position, distribution.weights, distribution.rest
from distribution
inner join asked on asked.layer = distribution.layer and asked.head = distribution.head
where distribution.sequence = $sequence
union all
select peak_map.layer, peak_map.head, peak_map.from_position, peak_map.weights, null as rest
from peak_map
order by layer, head, from_position
