-- How often a corpus departs from its format, by reason, with the first case of each.
select reason, count(*) as n, arg_min(detail, sentence) as example, arg_min(place, sentence) as place
from departure
where corpus = $corpus
group by all
order by n desc, reason
