-- What one head finds for the dependents of a relation: some of those whose gold head it finds, and some of the others,
-- each spread over the text (breakdown right, wrong), and how often what it finds instead has a value (breakdown
-- relation, upos, distance), counted as head_error counts. One statement for all, since the join is most of the work.
with

judged as (
    select
        gold.sentence,
        gold.dependent,
        gold.head,
        gold.sequence,
        gold.position,
        gold.head_position,
        case
            when $direction = 'dependent_to_head' then peak.most_attended
            else peak.most_attending
        end as found_position
    from gold_dependency(run := $run, saved := as_saved($relation)) as gold
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
    where peak.layer = $layer
        and peak.head = $head
        and not gold.is_root
        and ($relation = 'all' or gold.relation = $relation)
),

at_position as (
    select
        wanted.sequence,
        wanted.position,
        string_agg(without_subtype(word.deprel), '+' order by word.id) as relation,
        string_agg(coalesce(word.upos, word.xpos), '+' order by word.id) as upos
    from (select distinct judged.sequence, judged.found_position as position from judged) as wanted
    inner join word_position
        on word_position.sequence = wanted.sequence
        and word_position.position = wanted.position
    inner join word on word.id = word_position.word
    group by wanted.sequence, wanted.position
),

found as (
    select
        judged.sentence,
        judged.dependent,
        judged.head,
        coalesce(judged.found_position = judged.head_position, false) as is_right,
        cast(cast(judged.found_position as integer) - judged.position as varchar) as distance,
        position.text as form,
        at_position.relation,
        at_position.upos
    from judged
    left join position
        on position.sequence = judged.sequence
        and position.position = judged.found_position
    left join at_position
        on at_position.sequence = judged.sequence
        and at_position.position = judged.found_position
),

example as (
    select found.sentence, found.dependent, found.head, found.is_right, found.form
    from found
    qualify row_number() over (
        partition by found.is_right order by hash(found.dependent), found.dependent
    ) <= $most
),

described as (
    select 'relation' as breakdown, 1 as place, coalesce(found.relation, 'none') as value
    from found
    where not found.is_right
    union all
    select 'upos' as breakdown, 2 as place, coalesce(found.upos, 'none') as value
    from found
    where not found.is_right
    union all
    select 'distance' as breakdown, 3 as place, coalesce(found.distance, 'none') as value
    from found
    where not found.is_right
),

counted as (
    select described.breakdown, described.place, described.value, count(*) as n
    from described
    group by described.breakdown, described.place, described.value
),

extent as (
    select count(*) as dependents, sum(case when found.is_right then 0 else 1 end) as errors
    from found
)

select
    counted.breakdown,
    counted.place,
    counted.value,
    counted.n,
    cast(counted.n as double) / cast(extent.errors as double) as share,
    cast(extent.errors as bigint) as errors,
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
    null as errors,
    null as dependents,
    coalesce(sentence.name, cast(sentence.id as varchar)) as sent_id,
    example.sentence,
    dependent.index as dependent,
    head.index as gold
from example
inner join sentence on sentence.id = example.sentence
inner join word as dependent on dependent.id = example.dependent
left join word as head on head.id = example.head
order by place, sentence, dependent, n desc, value
