-- A page of the dependents of a relation that one head finds (breakdown right), misses (wrong), or for which its
-- prediction has a value (breakdown relation, upos or distance), in the order of the text.
with prediction as (
    select word.*
    from predicted_word(
        run := $run, relation := $relation, subtypes := $relation <> without_subtype($relation),
        layer := $layer, head := $head, direction := $direction
    ) as word
    where case $breakdown
            when 'right' then is_right
            when 'wrong' then not is_right
            when 'relation' then not is_right and coalesce(relation, 'none') = $value
            when 'upos' then not is_right and coalesce(upos, 'none') = $value
            else not is_right and coalesce(cast(distance as varchar), 'none') = $value
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
