-- Dependents of a relation whose head one head of run a finds, and one of run b does not, or the other way round: the
-- number of each kind (both, only_a, only_b, neither), and examples of only_a and only_b, spread over the text. Both
-- runs are over one corpus.
with change as (
    select
        a.sentence, a.dependent, a.head,
        a.form as form_a,
        b.form as form_b,
        case
            when a.is_right and b.is_right then 'both'
            when a.is_right then 'only_a'
            when b.is_right then 'only_b'
            else 'neither'
        end as kind
    from predicted_word(
        run := $run_a, relation := $relation, subtypes := $relation <> without_subtype($relation),
        layer := $layer_a, head := $head_a, direction := $direction_a
    ) as a
    inner join predicted_word(
        run := $run_b, relation := $relation, subtypes := $relation <> without_subtype($relation),
        layer := $layer_b, head := $head_b, direction := $direction_b
    ) as b
        on b.dependent = a.dependent
),

example as (
    select *
    from change
    where kind in ('only_a', 'only_b')
    qualify row_number() over (partition by kind order by hash(dependent), dependent) <= $most
)

select
    kind,
    count(*) as n,
    cast(null as varchar) as sent_id,
    cast(null as bigint) as sentence,
    cast(null as smallint) as dependent,
    cast(null as smallint) as gold,
    cast(null as varchar) as form_a,
    cast(null as varchar) as form_b
from change
group by kind
union all
select
    example.kind,
    null as n,
    coalesce(sentence.name, place_name(sentence.id)) as sent_id,
    example.sentence,
    dependent.index as dependent,
    head.index as gold,
    example.form_a, example.form_b
from example
inner join sentence on sentence.id = example.sentence
inner join word as dependent on dependent.id = example.dependent
left join word as head on head.id = example.head
order by n nulls last, sentence, dependent, kind
