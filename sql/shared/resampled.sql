-- title: How often each of so many groups is drawn in each of 1,000 resamples with replacement
-- grain: one row per (size, resample)
-- note: the draws are those of quadratic maps modulo a prime (drawn), the same in every engine and whatever is asked.
-- param sizes bigint[] = []: the numbers of groups, from 2 to 100; others are left out
-- column size bigint: the number of groups
-- column resample bigint: number of the resample, from 1
-- column times double[]: how often each group is drawn, in the order of the groups
with

asked as (
    select each.size
    from (select distinct unnest($sizes) as size) as each
    where each.size between 2 and 100
),

draw as (
    select asked.size, resample.resample, 1 + drawn(resample.resample, each.draw) % asked.size as group_number
    from asked
    cross join (select unnest(range(1, 1001)) as resample) as resample
    inner join (select unnest(range(1, 101)) as draw) as each on each.draw <= asked.size
),

times as (
    select draw.size, draw.resample, draw.group_number, cast(count(*) as double) as times
    from draw
    group by draw.size, draw.resample, draw.group_number
),

every_group as (
    select asked.size, each.group_number
    from asked
    inner join (select unnest(range(1, 101)) as group_number) as each on each.group_number <= asked.size
)

select
    every_group.size,
    each.resample,
    values_of(list_sort(
        list({'place': every_group.group_number, 'value': coalesce(times.times, cast(0 as double))})
    )) as times
from every_group
cross join (select unnest(range(1, 1001)) as resample) as each
left join times
    on times.size = every_group.size
    and times.resample = each.resample
    and times.group_number = every_group.group_number
group by every_group.size, each.resample
