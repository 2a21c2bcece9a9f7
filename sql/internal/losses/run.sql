-- A run with its model: what is needed to read its inputs again.
select
    run.* exclude (heads),
    (select string_agg(distinct run_part.device, ' + ') from run_part where run_part.run = run.id) as device,
    model.name as model_name,
    model.revision, model.sha256, model.tokenizer_sha256, model.random_seed, model.layers, model.heads,
    model.layer_numbers
from run
inner join model on model.id = run.model
where run.id = $run
