-- Invalid models, runs and names of a bank: numbers that loops run up to, and names and times that are printed.
select
    'its model ' || left(name, 40) || ' has ' || layers || ' layers of ' || heads || ' heads'
    || coalesce(', and the numbers of ' || len(layer_numbers), '') as reason
from model
where
    layers < 1 or heads < 1 or cast(layers as bigint) * heads > $heads
    or layer_numbers is not null and not (
        len(layer_numbers) = layers and list_min(layer_numbers) > 0 and len(list_distinct(layer_numbers)) = layers
    )
union all
select
    'its run ' || left(name, 40) || ' has '
    || case when heads < 1 then heads || ' heads' else 'no corpus or model' end
from run
where heads < 1 or model not in (select id from model) or corpus not in (select id from corpus)
union all
select 'its ' || kind || coalesce(' ' || left(name, 40), '') || ' has the number ' || id
from (
    select 'corpus' as kind, id, name from corpus
    union all
    select 'model', id, name from model
    union all
    select 'run', id, name from run
    union all
    select 'probe', id, null from probe
    union all
    select 'deleted ' || kind, last, null from used_id where last > 0
) as numbered_row
where id not between 1 and $last
union all
select 'a name in it has ' || length(name) || ' characters (' || left(name, 40) || '…)'
from (
    select name from model
    union all
    select name from run
    union all
    select name from corpus
    union all
    select name from saved_relation
    union all
    select ablation from ablation_set
    union all
    select name from ablation_set
) as named_row
where length(name) > $longest
union all
select 'a ' || kind || ' in it has ' || length || ' characters'
from (
    select 'relation' as kind, max(length(deprel)) as length from word
    union all
    select 'part of speech', max(length(upos)) from word
) as longest_label
where length > $longest
union all
select 'its ' || kind || ' has a time that is not finite'
from (
    select 'run' as kind, started, finished from run
    union all
    select 'run', started, finished from run_part
    union all
    select 'ablation', started, finished from ablation_set
    union all
    select 'probe', started, finished from probe
    union all
    select 'saved relation', saved, null from saved_relation
    union all
    select 'computation', started, finished from computation
) as timed_row
where not isfinite(started) or not isfinite(finished)
limit 1
