-- title: The attention maps of some heads over some inputs, or the mean of these maps
-- grain: one row per (sequence, layer, head, from_position)
-- note: a mean is only of positions for which each head has a row.
-- param sequences bigint[] = []: sequence.id of each input
-- param heads varchar[] = []: the heads, as 3-1
-- param mean boolean = false: one map, the mean of theirs, whose layer and head are null
-- column sequence, layer, head
-- column from_position smallint: position that attends
-- column weights double[]: the weight to each position of the input in turn; null for one that is not kept
-- column rest double: the sum of the weights that are not kept; null if only those of peaks are
with wanted_head as (
    select cast(split_part(text, '-', 1) as smallint) as layer, cast(split_part(text, '-', 2) as smallint) as head
    from (select unnest($heads) as text) as name
),

wanted_sequence as (
    select unnest($sequences) as sequence
),

wanted_peak as (
    select peak.*
    from peak
    inner join wanted_head using (layer, head)
    inner join wanted_sequence using (sequence)
),

peak_weight as (
    select
        sequence, layer, head, position as from_position, most_attended as to_position,
        most_attended_weight as weight
    from wanted_peak
    union
    select
        sequence, layer, head, most_attending as from_position, position as to_position,
        most_attending_weight as weight
    from wanted_peak
),

peak_map as (
    select
        position.sequence, wanted_head.layer, wanted_head.head,
        position.position as from_position,
        weights_by_position(
            list(peak_weight.to_position order by peak_weight.to_position),
            list(peak_weight.weight order by peak_weight.to_position),
            cast(null as float),
            any_value(sequence.positions)
        ) as weights
    from position
    inner join wanted_sequence using (sequence)
    inner join sequence on sequence.id = position.sequence
    inner join run on run.id = sequence.run
    cross join wanted_head
    left join peak_weight
        on peak_weight.sequence = position.sequence
        and peak_weight.layer = wanted_head.layer
        and peak_weight.head = wanted_head.head
        and peak_weight.from_position = position.position
        and peak_weight.to_position is not null
    where run.keep = 'peaks'
    group by all
),

wanted_map as (
    select
        distribution.sequence, distribution.layer, distribution.head, distribution.from_position, distribution.weights,
        distribution.rest
    from distribution
    inner join wanted_head using (layer, head)
    inner join wanted_sequence using (sequence)
    union all
    select sequence, layer, head, from_position, weights, null as rest
    from peak_map
)

select sequence, layer, head, from_position, weights, rest
from wanted_map
where not $mean
union all
select
    sequence, null as layer, null as head, from_position,
    list_transform(
        range(1, cast(max(len(weights)) as integer) + 1),
        lambda place: list_avg(
            list_transform(list(weights order by layer, head), lambda of_head: list_extract(of_head, place))
        )
    ) as weights,
    case when count(rest) = count(*) then sum(rest) end as rest
from wanted_map
where $mean
group by sequence, from_position
having count(*) = (select count(*) from wanted_head) and min(len(weights)) = max(len(weights))
