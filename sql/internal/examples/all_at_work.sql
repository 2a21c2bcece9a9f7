-- The dependents of a relation that one head finds (breakdown right), that it misses (wrong), or where what it finds
-- instead has a value (breakdown relation, upos or distance), in the order of the text, a page of them.
with

found as (
    select word.*
    from predicted_word(
        run := $run, relation := $relation, layer := $layer, head := $head, direction := $direction
    ) as word
    where case $breakdown
            when 'right' then word.is_right
            when 'wrong' then not word.is_right
            when 'relation' then not word.is_right and coalesce(word.relation, 'none') = $value
            when 'upos' then not word.is_right and coalesce(word.upos, 'none') = $value
            else not word.is_right and coalesce(cast(word.distance as varchar), 'none') = $value
        end
),

-- Where the dependent stands in the input that the run has read, and the first word where it looks.
looked as (
    select
        found.sentence,
        found.dependent,
        found.head,
        found.form,
        found.is_right,
        min(target.word) as target
    from found
    inner join run on run.name = $run
    inner join word_position as place on place.word = found.dependent
    inner join sequence
        on sequence.id = place.sequence
        and sequence.run = run.id
    left join word_position as target
        on target.sequence = place.sequence
        and target.position = place.position + found.distance
    group by found.sentence, found.dependent, found.head, found.form, found.is_right
)

select
    coalesce(sentence.name, cast(sentence.id as varchar)) as sent_id,
    looked.sentence,
    dependent.index as dependent,
    gold.index as gold,
    case when target.sentence = looked.sentence then target.index end as target,
    looked.form as value,
    looked.is_right,
    count(*) over () as total
from looked
inner join sentence on sentence.id = looked.sentence
inner join word as dependent on dependent.id = looked.dependent
left join word as gold on gold.id = looked.head
left join word as target on target.id = looked.target
order by looked.sentence, dependent.index
limit $most offset $skipped
