-- The names of sentences that are spelled most like the one that is asked for.
select sentence.name
from sentence
where sentence.name is not null
group by sentence.name
order by levenshtein(sentence.name, $name), sentence.name
limit 3
