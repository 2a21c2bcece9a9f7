-- title: A sign-flip test of several sums of differences, corrected by max-T
-- paper: Westfall and Young 1993 (Resampling-based multiple testing), max-T; Winkler et al. 2014, for sign flips
-- grain: one row per number
-- formula: p_corrected(i) = share of the signs s ∈ {−1, 1}ᴰ with max_j T_j(s) ≥ T_i(1), where T_j(s) = Σ_d s_d x_jd /
--   √(Σ_d x_jd²) over the clusters d; of absolute values where is_two_sided
-- note: a cluster gives all its differences one sign, so that what they have in common is kept. Up to 11 clusters all
--   the ways to give them a sign are tried; of more, the signs as they are and 1,999 that are drawn by quadratic maps
--   modulo a prime (pseudo_random), the same in every engine.
-- param differences bigint[][] = []: a number for what is tested, the cluster, and the difference of the two in it; a
--   cluster that is not there has none
-- param families bigint[][] = []: a number and its family, where there are several, each corrected for itself
-- param is_two_sided boolean = false: whether a small sum is as remarkable as a large one
-- column number bigint: what is tested
-- column p_corrected double: how likely any has a statistic as large by chance; null if all its differences are 0
with family_member as (
    select list_extract(entry, 1) as number, list_extract(entry, 2) as family
    from (select unnest($families) as entry) as item
),

cluster_difference as (
    select coalesce(family_member.family, 0) as family, numbered.number, numbered.cluster, numbered.difference
    from (
        select list_extract(entry, 1) as number, list_extract(entry, 2) as cluster, list_extract(entry, 3) as difference
        from (select unnest($differences) as entry) as item
    ) as numbered
    left join family_member using (number)
),

cluster_place as (
    select
        family, cluster,
        row_number() over (partition by family order by cluster) as place,
        count(*) over (partition by family) as places
    from (select distinct family, cluster from cluster_difference) as cluster_of_any
),

difference_scale as (
    select family, number, sqrt(sum(power(cast(difference as double), 2))) as scale
    from cluster_difference
    group by all
    having sum(abs(difference)) > 0
),

scaled_differences as (
    select
        difference_scale.family, difference_scale.number, cluster_place.places,
        values_of(list_sort(
            list({
                'place': cluster_place.place,
                'value': coalesce(cluster_difference.difference, 0) / difference_scale.scale
            })
        )) as differences
    from difference_scale
    inner join cluster_place using (family)
    left join cluster_difference using (family, number, cluster)
    group by all
),

sign_flip as (
    select places, unnest(range(0, case when places <= 11 then cast(power(2, places) as bigint) else 2000 end)) as flip
    from (select distinct places from cluster_place) as size
),

sign_vector as (
    select
        places, flip,
        list_transform(
            range(0, places),
            lambda place: case
                when flip = 0 then cast(1 as double)
                when places <= 11 then 1 - 2 * cast((flip // cast(power(2, place) as bigint)) % 2 as double)
                else 1 - 2 * cast((pseudo_random(flip, place) // 65536) % 2 as double)
            end
        ) as signs
    from sign_flip
),

largest_statistic as materialized (
    select
        scaled_differences.family, sign_vector.flip,
        max(
            case
                when $is_two_sided then abs(list_inner_product(scaled_differences.differences, sign_vector.signs))
                else list_inner_product(scaled_differences.differences, sign_vector.signs)
            end
        ) as statistic
    from sign_vector
    inner join scaled_differences using (places)
    group by all
),

observed_statistic as (
    select
        family, number,
        case when $is_two_sided then abs(list_sum(differences)) else list_sum(differences) end as statistic
    from scaled_differences
)

-- Sums of the same differences in another order may differ in their last bit.
select
    observed_statistic.number,
    share_of(largest_statistic.statistic >= observed_statistic.statistic - cast(1e-9 as double)) as p_corrected
from observed_statistic
inner join largest_statistic using (family)
group by all
