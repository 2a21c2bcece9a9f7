-- The newest finished run of random weights over the same corpus, in the same way, and of the same size as a run: it
-- shows what heads find without any training.
select control.name
from run as control
inner join model on model.id = control.model
inner join run as like_run on like_run.name = $run
inner join model as like_model on like_model.id = like_run.model
where model.random_seed is not null
    and like_model.random_seed is null
    and control.finished is not null
    and control.corpus = like_run.corpus
    and control.context = like_run.context
    and control.unit = like_run.unit
    and control.subword = like_run.subword
    and model.layers = like_model.layers
    and model.heads = like_model.heads
order by control.id desc
limit 1
