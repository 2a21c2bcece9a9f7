-- The words of some sentences in their order, with their indexes, counted from 1.
select sentence, form, index, space_after
from word
where sentence in (select unnest($sentences))
order by sentence, index
