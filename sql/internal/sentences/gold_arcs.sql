-- The arcs between the words of a relation that are shown, in the direction in which attention is judged, and whether some
-- heads (3-1), or their mean, find them: whether, at one of the positions of the word that attends, the most attended one
-- is one of the other word. The ends are the first positions of the words.
with wanted_peak as (
    select peak.*
    from head_peak(sequences := [$sequence], heads := $heads, mean := $mean) as peak
),

placed_word as (
    select word, position, list_contains($shown, position) as is_shown
    from word_position
    where sequence = $sequence
),

shown_word as (
    select
        placed_word.word, word.sentence, word.index, word.head_index, word.deprel,
        min(placed_word.position) as position
    from placed_word
    inner join word on word.id = placed_word.word
    where placed_word.is_shown
    group by all
),

pair as (
    select dependent.word, head.word as head_word
    from shown_word as dependent
    inner join shown_word as head
        on head.sentence = dependent.sentence
        and head.index = dependent.head_index
    where $saved is null
        and ($relation = 'all' or $relation = dependent.deprel or $relation = without_subtype(dependent.deprel))
    union all
    select word, head_word
    from saved_pair
    where relation = $saved
),

arc as (
    select
        pair.word, pair.head_word,
        dependent.position,
        head.position as head_position,
        case
            when $direction = 'head_to_dependent' then true
            when $direction = 'later_to_earlier' then head.position > dependent.position
            else false
        end as is_backward
    from pair
    inner join shown_word as dependent on dependent.word = pair.word
    inner join shown_word as head on head.word = pair.head_word
    where head.position <> dependent.position
),

hit as (
    select distinct wanted_peak.layer, wanted_peak.head, arc.word, arc.head_word
    from arc
    inner join placed_word as dependent on dependent.word = arc.word
    inner join placed_word as head on head.word = arc.head_word
    inner join wanted_peak
        on wanted_peak.position = dependent.position
        and head.position = case
            when arc.is_backward then wanted_peak.most_attending else wanted_peak.most_attended
        end
)

select
    judge.layer, judge.head,
    case when arc.is_backward then arc.head_position else arc.position end as from_position,
    case when arc.is_backward then arc.position else arc.head_position end as to_position,
    hit.word is not null as is_found
from arc
cross join (select distinct layer, head from wanted_peak) as judge
left join hit
    on hit.word = arc.word
    and hit.head_word = arc.head_word
    and hit.layer is not distinct from judge.layer
    and hit.head is not distinct from judge.head
order by judge.layer, judge.head, arc.word, arc.head_word
