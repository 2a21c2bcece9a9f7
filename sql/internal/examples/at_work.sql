-- What one head finds for the dependents of a relation: some of those whose gold head it finds, and some of the others,
-- each spread over the text (breakdown right, wrong), and how often what it finds instead has a value (breakdown
-- relation, upos, distance), counted as head_error counts. One statement for all, since the join is most of the work.
with

found as (
    select word.*
    from predicted_word(
        run := $run, relation := $relation, layer := $layer, head := $head, direction := $direction
    ) as word
),

example as (
    select found.sentence, found.dependent, found.head, found.is_right, found.form
    from found
    qualify row_number() over (
        partition by found.is_right order by hash(found.dependent), found.dependent
    ) <= $most
),

described as (
    select
        unnest([
            {'place': 1, 'breakdown': 'relation', 'value': found.relation},
            {'place': 2, 'breakdown': 'upos', 'value': found.upos},
            {'place': 3, 'breakdown': 'distance', 'value': cast(found.distance as varchar)}
        ]) as error
    from found
    where not found.is_right
),

counted as (
    select
        described.error.breakdown as breakdown,
        described.error.place as place,
        coalesce(described.error.value, 'none') as value,
        count(*) as n
    from described
    group by described.error.breakdown, described.error.place, coalesce(described.error.value, 'none')
),

extent as (
    select count(*) as dependents, count(*) filter (where not found.is_right) as errors
    from found
)

select
    counted.breakdown,
    counted.place,
    counted.value,
    counted.n,
    ratio(counted.n, extent.errors) as share,
    extent.errors,
    extent.dependents,
    cast(null as varchar) as sent_id,
    cast(null as integer) as sentence,
    cast(null as smallint) as dependent,
    cast(null as smallint) as gold
from counted
cross join extent
union all
select
    case when example.is_right then 'right' else 'wrong' end as breakdown,
    0 as place,
    example.form as value,
    null as n,
    null as share,
    extent.errors,
    extent.dependents,
    coalesce(sentence.name, cast(sentence.id as varchar)) as sent_id,
    example.sentence,
    dependent.index as dependent,
    head.index as gold
from example
inner join sentence on sentence.id = example.sentence
inner join word as dependent on dependent.id = example.dependent
left join word as head on head.id = example.head
cross join extent
order by place, sentence, dependent, n desc, value
