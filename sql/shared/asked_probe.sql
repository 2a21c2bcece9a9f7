-- title: The probe that is asked for, or every probe
-- grain: one row per probe; an error if there is none
-- param asked integer = null: probe.id; null for every probe
-- column id integer: probe.id
with

known as (
    select
        list(probe.id) filter ($asked is null or probe.id = $asked) as ids,
        coalesce(joined(list_sort(list(cast(probe.id as varchar)))), 'none') as every_probe
    from probe
)

select unnest(known.ids) as id
from known
where require(
    known.ids is not null,
    case
        when $asked is null
            then 'The bank has no probe. Type: attnbank probe attention --train-run RUN --test-run RUN'
        else concat(
            'There is no probe ', cast($asked as varchar), '; the probes of the bank: ', known.every_probe,
            '. Type: attnbank query probe_accuracy'
        )
    end
)
