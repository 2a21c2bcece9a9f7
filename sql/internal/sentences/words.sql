-- The words of a sentence in their order, with their indexes, counted from 1.
select form, index, space_after
from word
where sentence = $sentence
order by index
