-- How often one head finds the head of a dependent, by what the dependent is: its part of speech, the side on which its
-- head stands, and the distance between them in words.
with

prediction as (
    select word.*
    from predicted_word(
        run := $run, relation := $relation, layer := $layer, head := $head, direction := $direction
    ) as word
),

described as (
    select
        prediction.is_right,
        dependent.upos,
        head.index < dependent.index as is_after,
        abs(head.index - dependent.index) as distance
    from prediction
    inner join word as dependent on dependent.id = prediction.dependent
    inner join word as head on head.id = prediction.head
),

property as (
    select 1 as place, 'upos' as property, coalesce(upos, 'none') as value, is_right from described
    union all
    select 2, 'order', case when is_after then 'after its head' else 'before its head' end, is_right from described
    union all
    select
        3, 'distance',
        case
            when distance = 1 then '1 word'
            when distance = 2 then '2 words'
            when distance <= 5 then '3 to 5'
            else '6 or more'
        end,
        is_right
    from described
)

select
    property, value,
    count(*) as n,
    count(*) filter (where is_right) as correct,
    ratio(count(*) filter (where is_right), count(*)) as accuracy
from property
group by place, property, value
order by place, case when property = 'distance' then value end, n desc, value
