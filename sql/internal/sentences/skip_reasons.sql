-- Why a run skipped a sentence.
select reason, detail
from skipped
where sentence = $sentence
    and (run = $run or run is null)
order by run nulls last, reason
limit 1
