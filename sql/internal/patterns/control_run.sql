-- The newest finished run of random weights over the same corpus, in the same way, and of the same size as a run, with
-- the same --limit before others: it shows what heads find without any training.
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
    and control.measure is not distinct from like_run.measure
    and control.subword = like_run.subword
    and control.first_word is not distinct from like_run.first_word
    and control.bos is not distinct from like_run.bos
    and model.layers = like_model.layers
    and model.heads = like_model.heads
order by
    case
        when map_extract_value(control.options, 'limit')
            is not distinct from map_extract_value(like_run.options, 'limit')
            then 0
        else 1
    end,
    control.id desc
limit 1
