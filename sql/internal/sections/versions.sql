-- The library versions of each run: one row per run, library and version, Python included.
with part_version as (
    select run.id, run.name, unnest(map_entries(run_part.libraries)) as entry
    from run
    inner join run_part on run_part.run = run.id
)

select name as run, entry.key as library, entry.value as version
from part_version
group by id, name, entry.key, entry.value
order by id, library, version
