-- The versions that the figures of each run depend on, one row a library, Python among them.
select run.name as run, unnest(map_keys(run.libraries)) as library, unnest(map_values(run.libraries)) as version
from run
order by run.id, library
