-- title: How often a head is right and a fixed offset is not, and the reverse, for some relations, by clusters
-- grain: one row per (run, relation, cluster)
-- param runs, subtypes, possessive, saved, clamped
-- param heads varchar[][] = []: of each run and relation the layer, head and direction that are scored, and the offset
--   to compare with, as text: run.id, relation, layer, head, direction, offset
-- param choose varchar = null {half, train}: only dependents that heads are not chosen on (see pair_hit); null for all
-- column run integer: run.id of the run
-- column relation
-- column cluster bigint: see gold_dependency
-- column n
-- column by_offset bigint: dependents whose head the offset finds
-- column only_head, only_offset
with compared_head as (
    select
        cast(list_extract(entry, 1) as integer) as run,
        list_extract(entry, 2) as relation,
        cast(list_extract(entry, 3) as smallint) as layer,
        cast(list_extract(entry, 4) as smallint) as head,
        list_extract(entry, 5) as direction,
        cast(list_extract(entry, 6) as integer) as "offset"
    from (select unnest($heads) as entry) as item
),

gold as (
    select dependency.*, unnest(relations_of(relation, is_root)) as counted_relation
    from gold_pair(runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved) as dependency
    where $choose is null
        or not is_selection_part($choose, split, cluster)
),

comparison as (
    select
        compared_head.run, compared_head.relation, gold.cluster,
        case
            when is_offset_hit(
                compared_head."offset", judged_side(compared_head.direction, gold.side), gold.position,
                gold.head_position, gold.is_root, $clamped, extent.first_position, extent.last_position
            ) then 1 else 0
        end as by_offset,
        finds_head(
            compared_head.direction, gold.side, peak.most_attended, peak.most_attending, gold.head_position
        ) as by_head
    from compared_head
    inner join gold
        on gold.run = compared_head.run
        and gold.counted_relation = compared_head.relation
        and applies_to_side(compared_head.direction, gold.side)
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
        and peak.layer = compared_head.layer
        and peak.head = compared_head.head
    -- Where a clamped offset stops.
    left join sentence_extent(runs := case when $clamped then $runs else [] end) as extent
        on extent.sequence = gold.sequence
        and extent.sentence = gold.sentence
)

select
    run, relation, cluster,
    count(*) as n,
    cast(sum(by_offset) as bigint) as by_offset,
    cast(sum(by_head * (1 - by_offset)) as bigint) as only_head,
    cast(sum(by_offset * (1 - by_head)) as bigint) as only_offset
from comparison
group by all
