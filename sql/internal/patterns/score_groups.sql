-- How often one head, and a fixed offset, are right on the pairs of each group. The groups are in the temporary table
-- asked_group of the connection.
with

judged as (
    select
        gold.dependent,
        gold.head,
        case
            when $direction = 'dependent_to_head' then peak.most_attended
            else peak.most_attending
        end = gold.head_position as is_right,
        gold.head_position = gold.position + $offset as is_there
    from gold_dependency(run := $run, saved := $relation) as gold
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
    where peak.layer = $layer
        and peak.head = $head
),

counted as (
    select
        asked_group.number,
        count(*) as n,
        sum(case when judged.is_right then 1 else 0 end) as correct,
        sum(case when judged.is_there then 1 else 0 end) as there
    from judged
    inner join asked_group
        on asked_group.word = judged.dependent
        and asked_group.head_word = judged.head
    group by asked_group.number
)

select
    counted.number,
    counted.n,
    cast(counted.correct as double) / cast(counted.n as double) as accuracy,
    wilson_low(counted.correct, counted.n) as low,
    wilson_high(counted.correct, counted.n) as high,
    cast(counted.there as double) / cast(counted.n as double) as offset_accuracy
from counted
order by counted.n desc, counted.number
