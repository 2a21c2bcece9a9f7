-- The first unused number of each kind, larger than all that were ever used.
with

last_id as (
    select 'corpus' as kind, max(corpus.id) as last from corpus
    union all
    select 'model' as kind, max(model.id) as last from model
    union all
    select 'run' as kind, max(run.id) as last from run
    union all
    select 'probe' as kind, max(probe.id) as last from probe
    union all
    select used_id.kind, used_id.last from used_id
)

select last_id.kind, coalesce(max(last_id.last), 0) + 1 as id
from last_id
group by last_id.kind
order by last_id.kind
