-- The facts of a run for the title of a picture, and whether its model is causal.
select
    run.name, run.measure,
    model.name as model,
    model.random_seed,
    coalesce(model.causal, false) as is_causal,
    corpus.name as corpus
from run
inner join model on model.id = run.model
inner join corpus on corpus.id = run.corpus
where run.id = $run
