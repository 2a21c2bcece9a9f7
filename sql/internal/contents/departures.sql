-- How often sources depart from their formats without harm, by corpus and reason, with the first case of each.
select
    corpus.name as corpus,
    departure.reason,
    count(*) as n,
    arg_min(departure.detail, departure.sentence) as example,
    arg_min(departure.place, departure.sentence) as place
from departure
inner join corpus on corpus.id = departure.corpus
group by all
order by corpus.name, n desc, departure.reason
