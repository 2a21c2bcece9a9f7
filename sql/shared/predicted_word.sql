-- title: The word that one head predicts as the head of each dependent of a relation, in one direction
-- grain: one row per dependent that the direction is scored on
-- param run varchar = null: name or id of the run; by default as gold_dependency chooses it
-- param relation, subtypes, possessive
-- param layer smallint = null: 1-based layer of the head
-- param head smallint = null: 1-based number of the head in its layer
-- param direction varchar = null: dependent_to_head, head_to_dependent or later_to_earlier
-- column sentence, dependent
-- column head bigint: word.id of its head
-- column is_right boolean: whether the prediction is that head
-- column head_distance integer: position of that head minus that of the dependent
-- column distance integer: position of the prediction minus that of the dependent; null if there is no prediction
-- column form varchar: the predicted word, as it is written
-- column relation varchar: the relation of the predicted word to its own head; of several in one position, joined by +
-- column upos varchar: its part of speech, or without one its tag in the treebank's own set, joined likewise
with prediction as (
    select
        gold.sentence, gold.dependent, gold.head, gold.sequence, gold.position, gold.head_position,
        in_direction($direction, gold.side, peak.most_attended, peak.most_attending) as predicted_position
    from gold_dependency(
        run := $run, subtypes := $subtypes, possessive := $possessive, saved := saved_relation_name($relation)
    ) as gold
    inner join peak using (sequence, position)
    where peak.layer = $layer
        and peak.head = $head
        and not gold.is_root
        and applies_to_side($direction, gold.side)
        and ($relation is null or $relation = 'all' or gold.relation = $relation)
),

words_at_position as (
    select
        place.sequence, place.predicted_position,
        string_agg(
            case when $subtypes then word.deprel else without_subtype(word.deprel) end, '+' order by word.id
        ) as relation,
        string_agg(coalesce(word.upos, word.xpos), '+' order by word.id) as upos
    from (select distinct sequence, predicted_position from prediction) as place
    inner join word_position
        on word_position.sequence = place.sequence
        and word_position.position = place.predicted_position
    inner join word on word.id = word_position.word
    group by all
)

select
    prediction.sentence, prediction.dependent, prediction.head,
    coalesce(prediction.predicted_position = prediction.head_position, false) as is_right,
    cast(prediction.head_position as integer) - prediction.position as head_distance,
    cast(prediction.predicted_position as integer) - prediction.position as distance,
    position.text as form,
    words_at_position.relation, words_at_position.upos
from prediction
left join words_at_position using (sequence, predicted_position)
left join position
    on position.sequence = prediction.sequence
    and position.position = prediction.predicted_position
