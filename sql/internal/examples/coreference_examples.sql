-- Mentions of a kind (or all) whose antecedent one head finds, and those of which it finds none (breakdown right, wrong), as
-- coreference_accuracy counts them, spread over the text. The positions are those of head words in an input: of the
-- mention, of the antecedent that the head finds, else the nearest one (gold), and of the candidate that the mention
-- attends to most (predicted; value is how it is written). sentences are those of these words, in their order.
with prediction as (
    select sequence, mention, position, predicted_position, is_right
    from coreference_prediction(layer := $layer, head := $head, run := $run) as antecedent
    where $kind in ('all', kind)
),

-- By a hash, so that the examples are spread over the text, and the same each time.
example as (
    select *
    from prediction
    qualify row_number() over (partition by is_right order by hash(mention), mention) <= $most
),

nearest_antecedent as (
    select example.mention, arg_min(candidate.candidate_position, candidate.nearness) as position
    from example
    inner join coreference_candidate(run := $run) as candidate using (sequence, mention)
    where candidate.is_antecedent
    group by all
),

judged_example as (
    select
        example.*,
        case when example.is_right then example.predicted_position else nearest_antecedent.position end as gold_position
    from example
    inner join nearest_antecedent using (mention)
),

example_sentences as (
    select judged_example.mention, list_sort(list(distinct word.sentence)) as sentences
    from judged_example
    inner join word_position as place
        on place.sequence = judged_example.sequence
        and place.position in (
            judged_example.position, judged_example.gold_position, judged_example.predicted_position
        )
    inner join word on word.id = place.word
    group by all
)

select
    case when judged_example.is_right then 'right' else 'wrong' end as breakdown,
    coalesce(sentence.name, place_name(sentence.id)) as sent_id,
    word.sentence,
    word.index as dependent,
    predicted.text as value,
    judged_example.position,
    judged_example.gold_position,
    judged_example.predicted_position,
    judged_example.sequence,
    example_sentences.sentences
from judged_example
inner join example_sentences using (mention)
inner join mention on mention.id = judged_example.mention
inner join word on word.id = mention.head_word
inner join sentence on sentence.id = word.sentence
left join position as predicted
    on predicted.sequence = judged_example.sequence
    and predicted.position = judged_example.predicted_position
order by word.sentence, word.index, mention.id
