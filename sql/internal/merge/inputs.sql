-- The inputs of each run of an attached source: how many, from which id to which, and what is wrong with them.
with

own as (
    select
        sequence.run, count(*) as inputs, max(sequence.batch) as batches, min(sequence.id) as first,
        max(sequence.id) as last
    from source.main.sequence as sequence
    group by sequence.run
),

placed as (
    select
        coalesce(own.run, run.id) as run, coalesce(own.inputs, 0) as inputs,
        case
            when own.run is null then run.first_sequence
            -- An unfinished run goes on by counting from there.
            when run.finished is null then least(run.first_sequence, own.first)
            else own.first
        end as first,
        coalesce(own.last, run.first_sequence - 1) as last,
        case
            when run.id is null then 'its table sequence has inputs without a run'
            when run.batches < own.batches then 'the inputs of its run ' || run.name || ' are mixed'
        end as fault
    from source.main.run as run
    full join own on own.run = run.id
)

select
    placed.run, placed.inputs, placed.first, placed.last,
    coalesce(placed.fault, case
        when lag(placed.last) over (partition by placed.inputs > 0 order by placed.first) >= placed.first
            and placed.inputs > 0
            then 'in its table sequence the inputs of several runs overlap'
    end) as fault
from placed
