-- The mentions that stand within one sentence, in the order of the text, the longer first.
with

bound as (
    select min(word.id) as first_word, max(word.id) as last_word
    from word
    where word.sentence = $sentence
)

select mention.id, mention.entity, mention.first_word, mention.last_word, mention.head_word
from mention
inner join bound
    on mention.first_word >= bound.first_word
    and mention.last_word <= bound.last_word
order by mention.first_word, mention.last_word desc, mention.id
