-- title: The position that each word of an input attends to most, and the one that attends to it most, by some heads
-- grain: one row per (sequence, layer, head, position)
-- note: those of heads were found while ingesting (ingest/attention/merged_maps.py); those of a mean are found here by the
--   same rules: from words to other words, the leftmost of equal weights, and none of 0.
-- param sequences bigint[] = []: sequence.id of each input
-- param heads varchar[] = []: the heads, as 3-1
-- param mean boolean = false: those of the mean of their maps, whose layer and head are null
-- column sequence, layer, head
-- column position smallint: position of the word
-- column most_attended smallint: the position that it attends to most
-- column most_attended_weight double: that weight
-- column most_attending smallint: the position that attends to it most
-- column most_attending_weight double: that weight
with wanted_head as (
    select cast(split_part(text, '-', 1) as smallint) as layer, cast(split_part(text, '-', 2) as smallint) as head
    from (select unnest($heads) as text) as name
),

wanted_sequence as (
    select unnest($sequences) as sequence
),

word_place as (
    select sequence, position.position
    from position
    inner join wanted_sequence using (sequence)
    where kind in ('word', 'token')
),

mean_weight as (
    select
        mean_map.sequence, mean_map.from_position,
        other.position as to_position,
        list_extract(mean_map.weights, other.position + 1) as weight
    from head_map(sequences := $sequences, heads := $heads, mean := true) as mean_map
    inner join word_place as own
        on own.sequence = mean_map.sequence
        and own.position = mean_map.from_position
    inner join word_place as other
        on other.sequence = mean_map.sequence
        and other.position <> mean_map.from_position
    where $mean
),

attended as (
    select
        sequence, from_position as position,
        argmax_position(list(to_position order by to_position), list(weight order by to_position)) as most_attended,
        max(weight) as weight
    from mean_weight
    group by sequence, from_position
),

attending as (
    select
        sequence, to_position as position,
        argmax_position(list(from_position order by from_position), list(weight order by from_position))
            as most_attending,
        max(weight) as weight
    from mean_weight
    group by sequence, to_position
)

-- A join, since a page that reads the bank by ranges then reads the rows of these heads only: with list_contains it
-- reads four times as much.
select sequence, layer, head, position, most_attended, most_attended_weight, most_attending, most_attending_weight
from peak
inner join wanted_head using (layer, head)
inner join wanted_sequence using (sequence)
where not $mean
union all
select
    word_place.sequence, null as layer, null as head, word_place.position,
    attended.most_attended,
    coalesce(attended.weight, 0) as most_attended_weight,
    attending.most_attending,
    coalesce(attending.weight, 0) as most_attending_weight
from word_place
left join attended using (sequence, position)
left join attending using (sequence, position)
where $mean
