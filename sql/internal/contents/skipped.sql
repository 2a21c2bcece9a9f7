-- What was skipped, by corpus, run and reason, with the first detail and the first place of each in alphabetical order.
select
    corpus.name as corpus,
    run.name as run,
    skipped.reason,
    count(*) as n,
    min(skipped.detail) as example,
    min(skipped.place) as place
from skipped
inner join corpus on corpus.id = skipped.corpus
left join run on run.id = skipped.run
group by all
order by corpus.name, run.name nulls first, n desc, skipped.reason
