-- The words of a sentence in their order, with their indexes, counted from 1.
select word.form, word.index, word.space_after
from word
where word.sentence = $sentence
order by word.index
