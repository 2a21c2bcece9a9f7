-- Invalid models, runs and names of a bank: numbers that loops run up to, and names that are printed.
select
    'its model ' || left(model.name, 40) || ' has ' || model.layers || ' layers of ' || model.heads
    || ' heads' || coalesce(', and the numbers of ' || len(model.layer_numbers), '') as reason
from model
where
    model.layers < 1 or model.heads < 1 or cast(model.layers as bigint) * model.heads > $heads
    or model.layer_numbers is not null and not (
        len(model.layer_numbers) = model.layers and list_min(model.layer_numbers) > 0
        and len(list_distinct(model.layer_numbers)) = model.layers
    )
union all
select
    'its run ' || left(run.name, 40) || ' has '
    || case when run.heads < 1 then run.heads || ' heads' else 'no corpus or model' end
from run
where
    run.heads < 1 or run.model not in (select model.id from model) or run.corpus not in (select corpus.id from corpus)
union all
select 'its ' || numbered_row.kind || ' ' || left(numbered_row.name, 40) || ' has the number ' || numbered_row.id
from (
    select 'corpus' as kind, corpus.id, corpus.name from corpus
    union all
    select 'run', run.id, run.name from run
) as numbered_row
where numbered_row.id not between 1 and $numbers
union all
select 'a name in it has ' || length(named_row.name) || ' characters (' || left(named_row.name, 40) || '…)'
from (
    select model.name from model
    union all
    select run.name from run
    union all
    select corpus.name from corpus
) as named_row
where length(named_row.name) > $longest
limit 1
