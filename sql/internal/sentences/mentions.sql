-- The mentions within a range of words, in the order of the text, longer ones first.
select mention.entity, mention.first_word, mention.last_word, mention.head_word
from mention
where mention.first_word >= $first
    and mention.last_word <= $last
order by mention.first_word, mention.last_word desc, mention.id
