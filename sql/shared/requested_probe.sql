-- title: The probe that is asked for, or every probe
-- grain: one row per probe; an error if there is none
-- param probe integer = null: probe.id; null for all probes
-- column id integer: probe.id
with

known as (
    select
        list(probe.id) filter ($probe is null or probe.id = $probe) as ids,
        coalesce(joined(list_sort(list(cast(probe.id as varchar)))), 'none') as every_probe
    from probe
)

select unnest(known.ids) as id
from known
where refuse_unless(
    known.ids is not null,
    case
        when $probe is null
            then 'The bank has no probe. Type: attnbank probe attention --train-run RUN --test-run RUN'
        else concat(
            'There is no probe ', cast($probe as varchar), '; the probes of the bank: ', known.every_probe,
            '. Type: attnbank query probe_accuracy'
        )
    end
)
