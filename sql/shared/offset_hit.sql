-- title: How often the gold head stands at a fixed offset from its dependent in some runs, per relation
-- grain: one row per (run, relation, offset, side)
-- note: offset_baseline says what is judged, and why; it is this over one run.
-- param runs, subtypes, possessive, saved, offsets, clamped
-- column run integer: run.id of the run
-- column relation
-- column offset integer: predicted head minus dependent, in positions
-- column accuracy, correct, n, findable, side
with

gold as (
    select dependency.*, unnest(counted_as(dependency.relation, dependency.is_root)) as counted_as
    from gold_pair(
        runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved
    ) as dependency
),

extent as (
    select
        position.sequence,
        word.sentence,
        min(position.position) as first_position,
        max(position.position) as last_position
    from (select distinct gold.sequence from gold) as judged
    inner join position on position.sequence = judged.sequence
    inner join word on word.id = position.word
    group by position.sequence, word.sentence
),

tried as (
    select distinct listed."offset"
    from (select unnest($offsets) as "offset") as listed
),

judged as (
    select
        gold.run,
        gold.counted_as,
        gold.side,
        tried."offset",
        case
            when $clamped and gold.position + tried."offset" < extent.first_position then gold.is_root
            when $clamped then least(gold.position + tried."offset", extent.last_position) = gold.head_position
            else gold.position + tried."offset" = gold.head_position
        end as is_right
    from gold
    inner join extent
        on extent.sequence = gold.sequence
        and extent.sentence = gold.sentence
    cross join tried
    where reaches(tried."offset", gold.side)
),

-- Every dependent, judged or not.
total as (
    select gold.run, gold.counted_as, count(*) as n
    from gold
    group by gold.run, gold.counted_as
)

select
    judged.run,
    judged.counted_as as relation,
    judged."offset",
    ratio(count(*) filter (where judged.is_right), count(*)) as accuracy,
    count(*) filter (where judged.is_right) as correct,
    count(*) as n,
    ratio(count(*), total.n) as findable,
    judged.side
from judged
inner join total
    on total.run = judged.run
    and total.counted_as = judged.counted_as
group by judged.run, judged.counted_as, judged."offset", judged.side, total.n
