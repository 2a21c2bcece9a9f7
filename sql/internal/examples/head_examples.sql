-- The predictions of one head for the dependents of a relation: examples of right ones and of wrong ones, spread over
-- the text (breakdown right, wrong), the number of errors by what is predicted (breakdown relation, upos, distance), as
-- in head_error, and how often the head is right by what the dependent is (breakdown of upos, of order, of distance; see
-- dependent_properties). One statement for all, since the join is most of the work.
with prediction as materialized (
    select word.*
    from predicted_word(
        run := $run, relation := $relation, layer := $layer, head := $head, direction := $direction,
        subtypes := without_subtype($relation) <> $relation
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
        count(*) as n,
        0 as correct
    from (
        select unnest(word_properties(relation, upos, distance)) as property
        from prediction
        where not is_right
    ) as error
    group by all
),

dependent_property as (
    select
        prediction.is_right,
        unnest(dependent_properties(dependent.upos, prediction.head_distance)) as property
    from prediction
    inner join word as dependent on dependent.id = prediction.dependent
),

dependent_count as (
    select
        property.place as place,
        property.breakdown as breakdown,
        property.value as value,
        count(*) as n,
        count(*) filter (where is_right) as correct
    from dependent_property
    group by all
),

total as (
    select count(*) as dependents, count(*) filter (where not is_right) as errors
    from prediction
),

shown_row as (
    select
        counted.breakdown, counted.place, counted.value, counted.n, counted.correct,
        case
            when counted.place > 10 then ratio(counted.correct, counted.n)
            else ratio(counted.n, total.errors)
        end as share,
        total.errors, total.dependents,
        cast(null as varchar) as sent_id,
        cast(null as bigint) as sentence,
        cast(null as smallint) as dependent,
        cast(null as smallint) as gold
    from (select * from error_count union all select * from dependent_count) as counted
    cross join total
    union all
    select
        case when example.is_right then 'right' else 'wrong' end as breakdown,
        0 as place,
        example.form as value,
        null as n, null as correct, null as share, total.errors, total.dependents,
        coalesce(sentence.name, place_name(sentence.id)) as sent_id,
        example.sentence,
        dependent.index as dependent,
        head.index as gold
    from example
    inner join sentence on sentence.id = example.sentence
    inner join word as dependent on dependent.id = example.dependent
    left join word as head on head.id = example.head
    cross join total
)

select *
from shown_row
order by place, sentence, dependent, case when breakdown = 'of distance' then cast(value as integer) end, n desc, value
