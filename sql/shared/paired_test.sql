-- title: A paired test of two on the same cases, for several numbers: by sign flips of clusters, corrected by max-T
-- paper: as flip_test; the interval is that of Bonett and Price 2012
-- grain: one row per number
-- note: p values are null where there are so few clusters that even the smallest possible one, 1/2ᴰ of D clusters (two-
--   sided 2/2ᴰ), is above 0.05. head_score says how all of it is computed, compare_runs how it is two-sided.
-- param pairs bigint[][] = []: in each cluster, a number for what is tested, the cluster, its cases, those that only a
--   finds, and those that only b finds
-- param family bigint[] = []: the numbers that p_corrected is corrected for; it is null for others
-- param families of flip_test
-- param is_two_sided boolean = false: whether b may be better than a, too
-- param is_circular boolean = false: whether the pairs were found by what is tested, so that no p value is right
-- column number bigint: what is tested
-- column n bigint: cases
-- column clusters bigint: clusters that they are in
-- column only_a bigint: cases that only a finds
-- column only_b bigint: cases that only b finds
-- column difference double: the share that a finds minus that of b
-- column low double: lower end of the 95 % interval of difference; null, like high, for a single cluster
-- column high double: upper end of that interval
-- column variance double: variance of difference by clusters
-- column p_value double: how likely a difference like this is by chance, if clusters are independent
-- column p_corrected double: p_value, corrected for the family
with cluster_count as materialized (
    select
        list_extract(entry, 1) as number,
        list_extract(entry, 2) as cluster,
        list_extract(entry, 3) as n,
        list_extract(entry, 4) as only_a,
        list_extract(entry, 5) as only_b
    from (select unnest($pairs) as entry) as item
),

family as materialized (
    select unnest($family) as number
),

total as (
    select
        number,
        cast(sum(n) as bigint) as n,
        count(*) as clusters,
        cast(sum(only_a) as bigint) as only_a,
        cast(sum(only_b) as bigint) as only_b,
        clustered_pairs(only_a, only_b, n) as effective,
        clustered_variance(only_a - only_b, n) as variance,
        list_sort(list(only_a - only_b)) as for_a,
        list_sort(list(only_b - only_a)) as for_b
    from cluster_count
    group by all
),

tested as (
    select
        total.*,
        case
            when $is_circular then null
            when $is_two_sided and clusters >= 6
                then least(cast(1 as double), 2 * sign_flips(for_a), 2 * sign_flips(for_b))
            when not $is_two_sided and clusters >= 5 then sign_flips(for_a)
        end as p_value
    from total
)

select
    tested.number, tested.n, tested.clusters, tested.only_a, tested.only_b,
    ratio(tested.only_a - tested.only_b, tested.n) as difference,
    paired_low(tested.only_a, tested.only_b, tested.n, tested.effective) as low,
    paired_high(tested.only_a, tested.only_b, tested.n, tested.effective) as high,
    tested.variance, tested.p_value,
    case
        when family.number is not null and tested.p_value is not null
            then greatest(tested.p_value, coalesce(flip.p_corrected, cast(1 as double)))
    end as p_corrected
from tested
left join family on family.number = tested.number
left join flip_test(
    differences := (
        select list([cluster_count.number, cluster_count.cluster, cluster_count.only_a - cluster_count.only_b])
        from cluster_count
        inner join family using (number)
    ),
    families := $families, is_two_sided := $is_two_sided
) as flip on flip.number = tested.number
