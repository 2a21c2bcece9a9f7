-- A page of the dependents of a relation that one head finds (breakdown right), misses (wrong), for which its wrong
-- prediction has a value (breakdown relation, upos or distance), or which have one themselves (of upos, of order or of
-- distance; see dependent_properties), in the order of the text.
with prediction as (
    select word.*
    from predicted_word(
        run := $run, relation := $relation, subtypes := $relation <> without_subtype($relation),
        layer := $layer, head := $head, direction := $direction
    ) as word
    inner join word as dependent on dependent.id = word.dependent
    where case $breakdown
            when 'right' then word.is_right
            when 'wrong' then not word.is_right
            when 'relation' then not word.is_right and coalesce(word.relation, 'none') = $value
            when 'upos' then not word.is_right and coalesce(word.upos, 'none') = $value
            when 'distance' then not word.is_right and coalesce(cast(word.distance as varchar), 'none') = $value
            else list_extract(
                dependent_properties(dependent.upos, word.head_distance),
                list_position(['of upos', 'of order', 'of distance'], $breakdown)
            ).value = $value
        end
),

-- The first word of the predicted position, in the input of the run; a position may have several words.
example as (
    select
        prediction.sentence, prediction.dependent, prediction.head, prediction.form, prediction.is_right,
        min(target.word) as target
    from prediction
    inner join run on run.name = $run
    inner join word_position as place on place.word = prediction.dependent
    inner join sequence
        on sequence.id = place.sequence
        and sequence.run = run.id
    left join word_position as target
        on target.sequence = place.sequence
        and target.position = place.position + prediction.distance
    group by all
)

select
    coalesce(sentence.name, place_name(sentence.id)) as sent_id,
    example.sentence,
    dependent.index,
    dependent.form as dependent,
    gold.index as gold_index,
    gold.form as gold_head,
    case when target.sentence = example.sentence then target.index end as found_index,
    example.form as found,
    example.is_right,
    count(*) over () as total
from example
inner join sentence on sentence.id = example.sentence
inner join word as dependent on dependent.id = example.dependent
left join word as gold on gold.id = example.head
left join word as target on target.id = example.target
order by example.sentence, dependent.index
limit $most offset $skipped
