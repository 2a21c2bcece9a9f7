-- The predictions of one head for the dependents of a relation: examples of right ones and of wrong ones, spread over
-- the text (breakdown right, wrong), and the number of errors by value (breakdown relation, upos, distance), as in
-- head_error. One statement for all, since the join is most of the work.
with prediction as (
    select word.*
    from predicted_word(
        run := $run, relation := $relation, layer := $layer, head := $head, direction := $direction
    ) as word
),

-- By a hash, so that the examples are spread over the text, and the same each time.
example as (
    select sentence, dependent, head, is_right, form
    from prediction
    qualify row_number() over (partition by is_right order by hash(dependent), dependent) <= $most
),

error_count as (
    select
        property.place as place,
        property.breakdown as breakdown,
        coalesce(property.value, 'none') as value,
        count(*) as n
    from (
        select unnest(word_properties(relation, upos, distance)) as property
        from prediction
        where not is_right
    ) as error
    group by all
),

total as (
    select count(*) as dependents, count(*) filter (where not is_right) as errors
    from prediction
)

select
    error_count.breakdown, error_count.place, error_count.value, error_count.n,
    ratio(error_count.n, total.errors) as share,
    total.errors, total.dependents,
    cast(null as varchar) as sent_id,
    cast(null as bigint) as sentence,
    cast(null as smallint) as dependent,
    cast(null as smallint) as gold
from error_count
cross join total
union all
select
    case when example.is_right then 'right' else 'wrong' end as breakdown,
    0 as place,
    example.form as value,
    null as n, null as share, total.errors, total.dependents,
    coalesce(sentence.name, place_name(sentence.id)) as sent_id,
    example.sentence,
    dependent.index as dependent,
    head.index as gold
from example
inner join sentence on sentence.id = example.sentence
inner join word as dependent on dependent.id = example.dependent
left join word as head on head.id = example.head
cross join total
order by place, sentence, dependent, n desc, value
