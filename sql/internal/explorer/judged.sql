-- Dependents of a relation whose gold head one attention head finds ($is_right), or does not, and the word that it finds:
-- $most of them, picked by a hash so that they are spread over the text, and the same each time.
with

judged as (
    select
        gold.sentence,
        gold.dependent,
        gold.head,
        gold.sequence,
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

chosen as (
    select
        judged.sentence,
        judged.dependent,
        judged.head,
        judged.sequence,
        judged.found_position
    from judged
    where coalesce(judged.found_position = judged.head_position, false) = $is_right
    order by hash(judged.dependent), judged.dependent
    limit $most
)

select
    coalesce(sentence.name, cast(sentence.id as varchar)) as sent_id,
    chosen.sentence,
    dependent.index as dependent,
    head.index as gold,
    position.text as found_form
from chosen
inner join sentence on sentence.id = chosen.sentence
inner join word as dependent on dependent.id = chosen.dependent
left join word as head on head.id = chosen.head
left join position
    on position.sequence = chosen.sequence
    and position.position = chosen.found_position
order by chosen.sentence, chosen.dependent
