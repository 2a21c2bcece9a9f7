-- Why a run skipped a sentence.
select skipped.reason, skipped.detail
from skipped
where skipped.sentence = $sentence
    and (skipped.run = $run or skipped.run is null)
order by skipped.run nulls last, skipped.reason
limit 1
