-- How many sentences a run skipped, by reason, with those that could not be read at all.
select skipped.reason, count(*) as n
from skipped
inner join run on run.corpus = skipped.corpus
where run.id = $run
    and (skipped.run = run.id or skipped.run is null)
group by all
order by n desc, skipped.reason
