-- The word that each word of a sentence attends to most by some heads (3-1), or by their mean (in direction
-- head_to_dependent the one that attends to it most), and whether that is its head, in the tree or in a saved relation.
-- Neither right nor wrong are pairs that no head can find: two words at one position, a head that a causal model does
-- not see (it stands later, or beyond the input), and a first word that is set apart.
with placed_word as (
    select
        position.position, position.kind,
        case when position.kind = 'token' then plain_text(position.text) else position.text end as text,
        word.id as word,
        word.sentence, word.index, word.form, word.head_index, word.deprel
    from position
    left join word_position
        on word_position.sequence = position.sequence
        and word_position.position = position.position
    left join word on word.id = word_position.word
    where position.sequence = $sequence
),

gold as (
    select
        dependent.word,
        head.id as head_word,
        dependent.deprel as relation
    from (select distinct word, sentence, head_index, deprel from placed_word) as dependent
    left join word as head
        on head.sentence = dependent.sentence
        and head.index = dependent.head_index
    where $saved is null
    union all
    select word, min(head_word) as head_word, $saved as relation
    from saved_pair
    where relation = $saved
    group by word
),

-- In runs of tokens a word has a position for each of its pieces.
head_place as (
    select
        word,
        list(position) as positions,
        max(position) as last_position,
        min(case when kind = 'first' then 1 else 0 end) as is_apart
    from placed_word
    where word is not null
    group by word
),

special as (
    select list(position order by position) as positions
    from position
    where sequence = $sequence
        and kind not in ('word', 'token')
),

dependent as (
    select
        placed_word.*, gold.head_word, gold.relation, head_place.positions as head_positions,
        case
            when gold.head_word is null or placed_word.kind = 'first' or head_place.is_apart = 1 then null
            when list_contains(head_place.positions, placed_word.position) then null
            when not causality.is_causal then 'both'
            when head_place.last_position < placed_word.position then 'left'
            when head_place.last_position > placed_word.position then 'right'
        end as side
    from placed_word
    inner join sequence on sequence.id = $sequence
    inner join run_causality() as causality on causality.run = sequence.run
    left join gold on gold.word = placed_word.word
    left join head_place on head_place.word = gold.head_word
    where placed_word.sentence = $sentence
        and list_contains($shown, placed_word.position)
),

prediction as (
    select
        head_map.layer, head_map.head, dependent.*,
        case when $direction = 'head_to_dependent' then peak.most_attending else peak.most_attended end
            as predicted_position,
        case when $direction = 'head_to_dependent' then peak.most_attending_weight else peak.most_attended_weight end
            as weight,
        weights_at(head_map.weights, special.positions) as special_weights
    from dependent
    inner join head_map(sequences := [$sequence], heads := $heads, mean := $mean) as head_map
        on head_map.from_position = dependent.position
    left join head_peak(sequences := [$sequence], heads := $heads, mean := $mean) as peak
        on peak.position = dependent.position
        and peak.layer is not distinct from head_map.layer
        and peak.head is not distinct from head_map.head
    cross join special
)

select
    prediction.layer, prediction.head, prediction.position, prediction.index,
    prediction.text as dependent,
    prediction.predicted_position as found_position,
    case when found.kind = 'token' then plain_text(found.text) else found.text end as found,
    prediction.weight,
    gold_head.form as gold_head,
    prediction.relation,
    case
        when applies_to_side(
            case when $direction = 'head_to_dependent' then $direction else 'dependent_to_head' end, prediction.side
        )
            then coalesce(list_contains(prediction.head_positions, prediction.predicted_position), false)
    end as correct,
    case
        when prediction.special_weights is null then 0
        when list_count(prediction.special_weights) = len(prediction.special_weights)
            then list_sum(prediction.special_weights)
    end as special
from prediction
left join position as found
    on found.sequence = $sequence
    and found.position = prediction.predicted_position
left join word as gold_head on gold_head.id = prediction.head_word
order by prediction.layer, prediction.head, prediction.position, prediction.index
