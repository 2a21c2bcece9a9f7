-- The runs, and whether each may be chosen when no run is named.
select
    id,
    name as run,
    context, unit,
    case
        when is_preferred then 'first'
        when not_default_because is null then 'yes'
        else concat('no: ', not_default_because)
    end as unasked
from run_candidate() as candidate
order by id
