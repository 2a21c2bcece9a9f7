-- title: What one head finds, in one direction, for the dependents of a relation that have a head
-- grain: one row per dependent that the direction is judged on
-- param run varchar = null: name or id of the run; by default as gold_dependency chooses it
-- param relation, subtypes, possessive
-- param layer smallint = null: 1-based layer of the head
-- param head smallint = null: 1-based number of the head in its layer
-- param direction varchar = null: dependent_to_head, head_to_dependent or later_to_earlier
-- column sentence, dependent
-- column head integer: word.id of its head
-- column is_right boolean: whether what is found is that head
-- column distance integer: position of what is found minus that of the dependent; null where nothing is found
-- column form varchar: what is found, as it is written
-- column relation varchar: the relation of what is found to its own head; of several words in one position, joined by +
-- column upos varchar: its part of speech, or where the text has none its tag in the treebank's own set, joined likewise
with

judged as (
    select
        gold.sentence,
        gold.dependent,
        gold.head,
        gold.sequence,
        gold.position,
        gold.head_position,
        found_in($direction, gold.side, peak.most_attended, peak.most_attending) as found_position
    from gold_dependency(
        run := $run, subtypes := $subtypes, possessive := $possessive, saved := saved_relation_name($relation)
    ) as gold
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
    where peak.layer = $layer
        and peak.head = $head
        and not gold.is_root
        and judges($direction, gold.side)
        and ($relation is null or $relation = 'all' or gold.relation = $relation)
),

at_position as (
    select
        wanted.sequence,
        wanted.found_position,
        string_agg(
            case when $subtypes then word.deprel else without_subtype(word.deprel) end, '+' order by word.id
        ) as relation,
        string_agg(coalesce(word.upos, word.xpos), '+' order by word.id) as upos
    from (select distinct judged.sequence, judged.found_position from judged) as wanted
    inner join word_position
        on word_position.sequence = wanted.sequence
        and word_position.position = wanted.found_position
    inner join word on word.id = word_position.word
    group by wanted.sequence, wanted.found_position
)

select
    judged.sentence,
    judged.dependent,
    judged.head,
    coalesce(judged.found_position = judged.head_position, false) as is_right,
    cast(judged.found_position as integer) - judged.position as distance,
    position.text as form,
    at_position.relation,
    at_position.upos
from judged
left join position
    on position.sequence = judged.sequence
    and position.position = judged.found_position
left join at_position
    on at_position.sequence = judged.sequence
    and at_position.found_position = judged.found_position
