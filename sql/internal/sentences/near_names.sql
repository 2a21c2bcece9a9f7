-- The names of sentences that are most like the requested one; very long ones are left out.
select name
from sentence
where length(name) <= 80
group by name
order by levenshtein(name, $name), name
limit 3
