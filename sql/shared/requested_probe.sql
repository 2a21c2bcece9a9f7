-- title: The requested probe, or all probes
-- grain: one row per probe; an error if there is none
-- param probe integer = null: probe.id; null for all probes
-- column id integer: probe.id
with probe_list as (
    select
        list(id) filter ($probe is null or id = $probe) as ids,
        coalesce(joined(list_sort(list(cast(id as varchar)))), 'none') as all_probes
    from probe
)

select unnest(ids) as id
from probe_list
where require(
    ids is not null,
    case
        when $probe is null then 'The bank has no probe. Type: attnbank probe attention --train-run RUN --test-run RUN'
        else concat(
            'There is no probe ', cast($probe as varchar), '; the probes of the bank: ', all_probes,
            '. Type: attnbank query probe_accuracy'
        )
    end
)
