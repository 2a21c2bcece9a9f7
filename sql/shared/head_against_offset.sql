-- title: How often one head of some relations is right and a fixed offset is not, and the other way round, by clusters
-- grain: one row per (relation, cluster)
-- param runs, subtypes, possessive, saved, clamped
-- param heads varchar[][] = []: of each relation the layer, head and direction that are judged, and the offset beside them,
--   as text: relation, layer, head, direction, offset
-- param choose varchar = null {half, train}: only the dependents that heads are not chosen on (see pair_hit); null for all
-- column relation
-- column cluster bigint: see gold_dependency
-- column n
-- column by_offset bigint: dependents whose head the offset finds
-- column only_head bigint: dependents whose head the head finds and the offset does not
-- column only_offset bigint: dependents whose head the offset finds and the head does not
with

judging as (
    select
        list_extract(listed.entry, 1) as relation,
        cast(list_extract(listed.entry, 2) as smallint) as layer,
        cast(list_extract(listed.entry, 3) as smallint) as head,
        list_extract(listed.entry, 4) as direction,
        cast(list_extract(listed.entry, 5) as integer) as "offset"
    from (select unnest($heads) as entry) as listed
),

gold as (
    select dependency.*, unnest(counted_as(dependency.relation, dependency.is_root)) as counted
    from gold_pair(
        runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved
    ) as dependency
    where $choose is null
        or not chooses($choose, dependency.split, dependency.cluster)
),

-- Where a clamped offset stops.
extent as (
    select
        position.sequence,
        word.sentence,
        min(position.position) as first_position,
        max(position.position) as last_position
    from position
    inner join word on word.id = position.word
    where $clamped
    group by position.sequence, word.sentence
),

judged as (
    select
        judging.relation,
        gold.cluster,
        case
            when offset_finds(
                judging."offset", judged_side(judging.direction, gold.side), gold.position, gold.head_position,
                gold.is_root, $clamped, extent.first_position, extent.last_position
            ) then 1
            else 0
        end as by_offset,
        case
            when found_in(judging.direction, gold.side, peak.most_attended, peak.most_attending)
                = gold.head_position
                then 1
            else 0
        end as by_head
    from judging
    inner join gold
        on gold.counted = judging.relation
        and judges(judging.direction, gold.side)
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
        and peak.layer = judging.layer
        and peak.head = judging.head
    left join extent
        on extent.sequence = gold.sequence
        and extent.sentence = gold.sentence
)

select
    judged.relation,
    judged.cluster,
    count(*) as n,
    cast(sum(judged.by_offset) as bigint) as by_offset,
    cast(sum(judged.by_head * (1 - judged.by_offset)) as bigint) as only_head,
    cast(sum(judged.by_offset * (1 - judged.by_head)) as bigint) as only_offset
from judged
group by judged.relation, judged.cluster
