-- title: The relations that each head of a run finds better than their commonest offset
-- grain: one row per (layer, head, relation) that it finds so
-- note: head_function says what is counted, and why.
-- param run integer = null: run.id of the run; one of tokens, or without trees, has no row
-- param margin double = 0.1: accuracy above the commonest offset from which a head is syntactic for a relation
-- param min_count
-- column layer, head, relation
with dependency as (
    select sequence, position as dependent, head_position, relation, side
    from gold_pair(runs := (select list(id) from run where id = $run and unit = 'word')) as gold
    where not is_root
        and relation <> 'punct'
        and relation <> 'p'
),

relation_at_offset as (
    select relation, side, head_position - dependent as distance, count(*) as n
    from dependency
    where side is not null
    group by all
),

relation_baseline as (
    select relation, side, ratio(max(case when distance is null then 0 else n end), sum(n)) as accuracy, sum(n) as n
    from relation_at_offset
    group by all
),

gold_maximum as (
    select
        dependency.sequence,
        in_direction(
            scored_direction.direction, dependency.side, dependency.dependent, dependency.head_position
        ) as from_position,
        in_direction(
            scored_direction.direction, dependency.side, dependency.head_position, dependency.dependent
        ) as to_position,
        dependency.relation, dependency.side,
        dense_rank() over (order by dependency.relation, scored_direction.direction) as number
    from dependency
    inner join (select unnest(directions()) as direction) as scored_direction
        on applies_to_side(scored_direction.direction, dependency.side)
        and scored_direction.direction <> 'later_to_earlier'
),

-- By number, since names take several times as long to group.
relation_hit as (
    select
        maximum.layer, maximum.head, gold_maximum.number,
        count(*) filter (where maximum.to_position = gold_maximum.to_position) as correct
    from map_maximum(run := $run) as maximum
    inner join gold_maximum using (sequence, from_position)
    group by all
)

select distinct relation_hit.layer, relation_hit.head, numbered_relation.relation
from relation_hit
inner join (select distinct number, relation, side from gold_maximum) as numbered_relation using (number)
inner join relation_baseline using (relation, side)
where ratio(relation_hit.correct, relation_baseline.n) >= relation_baseline.accuracy + $margin
    and relation_baseline.n >= $min_count
