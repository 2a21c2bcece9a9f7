-- The most accurate head on the pairs of each group, or one head ($layer, $head, $direction) on all of them, compared
-- with the best of the fixed offsets $offsets. The groups are in the temporary table score_group of the connection.
with gold as (
    select
        score_group.number, dependency.sequence, dependency.position, dependency.head_position, dependency.cluster,
        dependency.side
    from gold_dependency(run := $run, saved := $relation) as dependency
    inner join score_group
        on score_group.word = dependency.dependent
        and score_group.head_word = dependency.head
    where dependency.side is not null
),

sided_dependent as (
    select gold.*, side as scored_side
    from gold
    union all
    select gold.*, 'either' as scored_side
    from gold
    where side <> 'both'
),

best_offset as (
    select
        sided_dependent.number, sided_dependent.scored_side, candidate_offset."offset",
        share_of(
            is_at_offset(
                candidate_offset."offset", sided_dependent.scored_side, sided_dependent.position,
                sided_dependent.head_position
            )
        ) as accuracy
    from sided_dependent
    cross join (select unnest($offsets) as "offset") as candidate_offset
    where offset_applies_to_side(candidate_offset."offset", sided_dependent.scored_side)
    group by sided_dependent.number, sided_dependent.scored_side, candidate_offset."offset"
    qualify row_number() over (
        partition by sided_dependent.number, sided_dependent.scored_side
        order by accuracy desc, abs(candidate_offset."offset"), candidate_offset."offset"
    ) = 1
),

hit as (
    select
        gold.number, gold.cluster, gold.side, peak.layer, peak.head,
        count(*) as n,
        sum(case when peak.most_attended = gold.head_position then 1 else 0 end) as to_head,
        sum(case when peak.most_attending = gold.head_position then 1 else 0 end) as to_dependent
    from gold
    inner join peak using (sequence, position)
    where ($layer is null or peak.layer = $layer)
        and ($head is null or peak.head = $head)
    group by all
),

per_direction as (
    select
        hit.number, hit.cluster, hit.layer, hit.head, scored_direction.direction,
        judged_side(scored_direction.direction, hit.side) as side,
        sum(hit.n) as n,
        sum(in_direction(scored_direction.direction, hit.side, hit.to_head, hit.to_dependent)) as correct
    from hit
    inner join (select unnest(directions()) as direction) as scored_direction
        on applies_to_side(scored_direction.direction, hit.side)
    where $direction is null or scored_direction.direction = $direction
    group by all
),

best as (
    select
        number, layer, head, direction, side,
        cast(sum(n) as bigint) as n,
        clustered_n(correct, n) as effective,
        ratio(sum(correct), sum(n)) as accuracy
    from per_direction
    group by number, layer, head, direction, side
    having sum(per_direction.n) >= $min_count
    qualify row_number() over (partition by number order by sum(correct) desc, layer, head, direction) = 1
),

-- Each pair by the best head and the best offset, for those that only one of the two finds.
comparison as (
    select
        best.number, gold.cluster, best_offset."offset",
        best_offset.accuracy as offset_accuracy,
        case
            when is_at_offset(best_offset."offset", best.side, gold.position, gold.head_position) then 1 else 0
        end as by_offset,
        finds_head(best.direction, gold.side, peak.most_attended, peak.most_attending, gold.head_position) as by_head
    from best
    inner join best_offset
        on best_offset.number = best.number
        and best_offset.scored_side = best.side
    inner join gold
        on gold.number = best.number
        and applies_to_side(best.direction, gold.side)
    inner join peak using (sequence, position, layer, head)
),

per_cluster as (
    select
        number, "offset", offset_accuracy,
        count(*) as n,
        cast(sum(by_head * (1 - by_offset)) as bigint) as only_head,
        cast(sum(by_offset * (1 - by_head)) as bigint) as only_offset
    from comparison
    group by number, cluster, "offset", offset_accuracy
),

per_group as (
    select
        number, "offset", offset_accuracy,
        cast(sum(n) as bigint) as n,
        cast(sum(only_head) as bigint) as only_head,
        cast(sum(only_offset) as bigint) as only_offset,
        clustered_pairs(only_head, only_offset, n) as effective
    from per_cluster
    group by all
)

select
    best.number, best.n, best.accuracy,
    wilson_low(best.accuracy * best.effective, best.effective) as low,
    wilson_high(best.accuracy * best.effective, best.effective) as high,
    per_group.offset_accuracy,
    ratio(per_group.only_head - per_group.only_offset, per_group.n) as gain,
    paired_low(per_group.only_head, per_group.only_offset, per_group.n, per_group.effective) as gain_low,
    paired_high(per_group.only_head, per_group.only_offset, per_group.n, per_group.effective) as gain_high,
    best.layer, best.head, best.direction, per_group."offset",
    $run as run
from best
left join per_group using (number)
order by best.n desc, best.number
