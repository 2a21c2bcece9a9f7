-- The first unused number of each kind, larger than all that were ever used.
with last_id as (
    select 'corpus' as kind, max(id) as last from corpus
    union all
    select 'model' as kind, max(id) as last from model
    union all
    select 'run' as kind, max(id) as last from run
    union all
    select 'probe' as kind, max(id) as last from probe
    union all
    select kind, last from used_id
)

select kind, coalesce(max(last), 0) + 1 as id
from last_id
group by all
order by kind
