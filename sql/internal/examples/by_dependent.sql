-- How often one head finds the head of a dependent, by what the dependent is: its part of speech, the side on which its
-- head stands, and the distance between them in words.
with prediction as (
    select
        word.is_right,
        unnest([
            {'place': 1, 'name': 'upos', 'value': coalesce(dependent.upos, 'none')},
            {'place': 2, 'name': 'order', 'value': case
                when head.index < dependent.index then 'after its head' else 'before its head'
            end},
            {'place': 3, 'name': 'distance', 'value': case
                when abs(head.index - dependent.index) = 1 then '1 word'
                when abs(head.index - dependent.index) = 2 then '2 words'
                when abs(head.index - dependent.index) <= 5 then '3 to 5'
                else '6 or more'
            end}
        ]) as entry
    from predicted_word(
        run := $run, relation := $relation, layer := $layer, head := $head, direction := $direction
    ) as word
    inner join word as dependent on dependent.id = word.dependent
    inner join word as head on head.id = word.head
)

select
    entry.name as property,
    entry.value as value,
    count(*) as n,
    count(*) filter (where is_right) as correct,
    ratio(count(*) filter (where is_right), count(*)) as accuracy
from prediction
group by entry.place, entry.name, entry.value
order by entry.place, case when entry.name = 'distance' then entry.value end, n desc, entry.value
