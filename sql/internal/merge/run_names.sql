-- What a column of texts calls a run of the attached source $source, by its name or its id, and what the new bank calls it.
create or replace temp table merge_run as
with

same as (
    select old.id as old_id, old.name as old_name, new.id, new.name
    from source.main.run as old
    inner join merge_shift
        on merge_shift.kind = 'run' and merge_shift.source = $source and merge_shift.first = old.id
    inner join main.run as new on new.id = old.id + merge_shift.shift
)

select same.old_name as told, same.name as now
from same
union all
select cast(same.old_id as varchar), cast(same.id as varchar)
from same
where cast(same.old_id as varchar) not in (select other.old_name from same as other)
