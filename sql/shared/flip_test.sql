-- title: How likely one of several sums of differences is so large by chance, by the signs of the clusters
-- paper: Westfall and Young 1993 (Resampling-based multiple testing), max-T; Winkler et al. 2014, for sign flips
-- grain: one row per number
-- formula: p_corrected(i) = share of the signs s ∈ {−1, 1}ᴰ with max_j T_j(s) ≥ T_i(1), where T_j(s) = Σ_d s_d x_jd /
--   √(Σ_d x_jd²) over the clusters d; of absolute values where is_two_sided
-- note: a cluster gives all its differences one sign, so that what they have in common is kept. Up to 11 clusters all the
--   ways to give them a sign are tried; of more, the signs as they are and 1,999 that are drawn by quadratic maps modulo a
--   prime (drawn), the same in every engine.
-- param differences bigint[][] = []: a number for what is tested, the cluster, and the difference of the two in it; a
--   cluster that is not there has none
-- param is_two_sided boolean = false: whether a small sum is as remarkable as a large one
-- column number bigint: what is tested
-- column p_corrected double: how likely any of them has a statistic at least as large by chance; null where all its
--   differences are 0
with

given as (
    select
        list_extract(listed.entry, 1) as number,
        list_extract(listed.entry, 2) as cluster,
        list_extract(listed.entry, 3) as difference
    from (select unnest($differences) as entry) as listed
),

placed as (
    select clusters.cluster, row_number() over (order by clusters.cluster) as place, count(*) over () as places
    from (select distinct given.cluster from given) as clusters
),

tested as (
    select given.number, sqrt(sum(power(cast(given.difference as double), 2))) as scale
    from given
    group by given.number
    having sum(abs(given.difference)) > 0
),

scaled as (
    select
        tested.number,
        values_of(list_sort(
            list({'place': placed.place, 'value': coalesce(given.difference, 0) / tested.scale})
        )) as differences
    from tested
    cross join placed
    left join given
        on given.number = tested.number
        and given.cluster = placed.cluster
    group by tested.number
),

numbered as (
    select
        size.places,
        unnest(range(0, case when size.places <= 11 then cast(power(2, size.places) as bigint) else 2000 end)) as flip
    from (select max(placed.places) as places from placed) as size
),

flipped as (
    select
        numbered.flip,
        list_transform(
            range(0, numbered.places),
            lambda place: case
                when numbered.flip = 0 then cast(1 as double)
                when numbered.places <= 11
                    then 1 - 2 * cast((numbered.flip // cast(power(2, place) as bigint)) % 2 as double)
                else 1 - 2 * cast((drawn(numbered.flip, place) // 65536) % 2 as double)
            end
        ) as signs
    from numbered
),

largest as materialized (
    select
        flipped.flip,
        max(
            case
                when $is_two_sided then abs(list_inner_product(scaled.differences, flipped.signs))
                else list_inner_product(scaled.differences, flipped.signs)
            end
        ) as statistic
    from flipped
    cross join scaled
    group by flipped.flip
),

observed as (
    select
        scaled.number,
        case
            when $is_two_sided then abs(list_sum(scaled.differences))
            else list_sum(scaled.differences)
        end as statistic
    from scaled
)

-- Sums of the same differences in another order may differ in their last bit.
select
    observed.number,
    share_of(largest.statistic >= observed.statistic - cast(1e-9 as double)) as p_corrected
from observed
cross join largest
group by observed.number
