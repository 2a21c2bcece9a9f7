-- The library versions of each run: one row per run, library and version, Python included.
with

part_version as (
    select
        run.id, run.name,
        unnest(map_keys(run_part.libraries)) as library,
        unnest(map_values(run_part.libraries)) as version
    from run
    inner join run_part on run_part.run = run.id
)

select name as run, library, version
from part_version
group by id, name, library, version
order by id, library, version
