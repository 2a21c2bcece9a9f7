-- title: How often the gold head stands at a fixed offset from its dependent in some runs, per relation
-- grain: one row per (run, relation, offset, side)
-- note: offset_baseline says what is judged, and why; it is this over one run.
-- param runs, subtypes, possessive, saved, offsets, clamped
-- column run integer: run.id of the run
-- column relation
-- column offset integer: predicted head minus dependent, in positions
-- column accuracy, correct, n, findable, overall, side
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

-- Each on the side of a dependent, and from the later of two words to the earlier.
tried as (
    select distinct listed."offset", way.is_either
    from (select unnest($offsets) as "offset") as listed
    cross join (select unnest([false, true]) as is_either) as way
),

sided as (
    select
        gold.*,
        tried."offset",
        case when tried.is_either then 'either' else gold.side end as judged_on
    from gold
    cross join tried
    where not tried.is_either or gold.side <> 'both'
),

judged as (
    select
        sided.run,
        sided.counted_as,
        sided.judged_on,
        sided."offset",
        offset_finds(
            sided."offset", sided.judged_on, sided.position, sided.head_position, sided.is_root, $clamped,
            extent.first_position, extent.last_position
        ) as is_right
    from sided
    inner join extent
        on extent.sequence = sided.sequence
        and extent.sentence = sided.sentence
    where reaches(sided."offset", sided.judged_on)
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
    ratio(count(*) filter (where judged.is_right), total.n) as overall,
    judged.judged_on as side
from judged
inner join total
    on total.run = judged.run
    and total.counted_as = judged.counted_as
group by judged.run, judged.counted_as, judged."offset", judged.judged_on, total.n
