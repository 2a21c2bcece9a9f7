-- How many words of a run have a surprisal and how many have none, in one row, counted as in contents/runs.
select
    count(nats) as words,
    count(*) filter (where nats is null and words = 1) as first_words,
    count(*) filter (where nats is null and words > 1) as sharing_words
from surprisal
where run = $run
