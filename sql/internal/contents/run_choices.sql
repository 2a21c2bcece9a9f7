-- The runs, and whether each may be chosen when no run is named.
select
    fit.id,
    fit.name as run,
    fit.context,
    fit.unit,
    case
        when fit.is_preferred then 'first'
        when fit.reserve is null then 'yes'
        else concat('no: ', fit.reserve)
    end as unasked
from run_fit() as fit
order by fit.id
