-- The library versions of each run: one row per run and library, Python included.
select run.name as run, unnest(map_keys(run.libraries)) as library, unnest(map_values(run.libraries)) as version
from run
order by run.id, library
