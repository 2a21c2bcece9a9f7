-- How often a corpus departs from its format, by reason, with the first case of each.
select
    departure.reason,
    count(*) as n,
    arg_min(departure.detail, departure.sentence) as example,
    arg_min(departure.place, departure.sentence) as place
from departure
where departure.corpus = $corpus
group by departure.reason
order by n desc, departure.reason
