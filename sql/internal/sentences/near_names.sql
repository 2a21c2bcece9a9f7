-- The names of sentences that are most like the requested one; very long ones are left out.
select sentence.name
from sentence
where length(sentence.name) <= 80
group by sentence.name
order by levenshtein(sentence.name, $name), sentence.name
limit 3
