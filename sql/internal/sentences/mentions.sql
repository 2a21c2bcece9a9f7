-- The mentions within a range of words, in the order of the text, longer ones first.
select entity, first_word, last_word, head_word
from mention
where first_word >= $first
    and last_word <= $last
order by first_word, last_word desc, id
