-- The runs of a bank with their distinguishing options, the oldest first.
select id, name, model, corpus, context, unit, is_finished, is_whole, is_preferred
from run_candidate() as candidate
order by id
