-- The runs, and whether each may be chosen when no run is named.
select
    candidate.id,
    candidate.name as run,
    candidate.context,
    candidate.unit,
    case
        when candidate.is_preferred then 'first'
        when candidate.not_default_because is null then 'yes'
        else concat('no: ', candidate.not_default_because)
    end as unasked
from run_candidate() as candidate
order by candidate.id
