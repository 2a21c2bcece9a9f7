-- Sentences of 5 to 14 words in whose inputs a head has the largest share of its attention on a target, beyond that of
-- one position if all are equal: previous, self and next word, cls, sep, punctuation, or the first position. Of equal
-- ones the first in the text.
with input as (
    select
        sequence.id as sequence,
        ratio(
            case $target
                when 'previous' then map.word_before
                when 'self' then map.word_itself
                when 'next' then map.word_after
                when 'cls' then map.to_cls
                when 'sep' then map.to_sep
                when 'punctuation' then map.to_punctuation
                else list_extract(map.received, 1)
            end,
            sequence.positions
        ) as share,
        ratio(1, sequence.positions) as chance
    from attention_map as map
    inner join sequence on sequence.id = map.sequence
    inner join run on run.id = sequence.run
    where run.name = $run
        and map.layer = $layer
        and map.head = $head
)

select
    coalesce(sentence.name, place_name(sentence.id)) as sent_id,
    sentence.id as sentence,
    input.share
from input
inner join word_position on word_position.sequence = input.sequence
inner join word on word.id = word_position.word
inner join sentence on sentence.id = word.sentence
where input.share > 0
group by sentence.id, sentence.name, input.share, input.chance
having count(distinct word.id) between 5 and 14
order by input.share - input.chance desc, sentence.id
limit $most
