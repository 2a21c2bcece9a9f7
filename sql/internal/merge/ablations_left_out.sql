-- The ablations of an attached source that the new bank has others of: of the same run and name, with other sets of
-- heads or fewer rows. The runs $old of the source are the runs $new of the new bank.
with

moved_run as (
    select unnest(cast($old as integer[])) as old, unnest(cast($new as integer[])) as run
),

own_set as (
    select
        moved_run.run, ablation_set.ablation, ablation_set.number, ablation_set.name, ablation_set.replacement,
        list([ablated_head.layer, ablated_head.head] order by ablated_head.layer, ablated_head.head) as heads
    from source.main.ablation_set as ablation_set
    inner join moved_run on moved_run.old = ablation_set.run
    inner join source.main.ablated_head as ablated_head
        on ablated_head.run = ablation_set.run
        and ablated_head.ablation = ablation_set.ablation
        and ablated_head.number = ablation_set.number
    group by all
),

their_set as (
    select
        ablation_set.run, ablation_set.ablation, ablation_set.number, ablation_set.name, ablation_set.replacement,
        list([ablated_head.layer, ablated_head.head] order by ablated_head.layer, ablated_head.head) as heads
    from main.ablation_set as ablation_set
    inner join main.ablated_head as ablated_head
        on ablated_head.run = ablation_set.run
        and ablated_head.ablation = ablation_set.ablation
        and ablated_head.number = ablation_set.number
    group by all
),

other_set as (
    select run, ablation
    from own_set
    where not exists (
        select 1
        from their_set
        where their_set.run = own_set.run
            and their_set.ablation = own_set.ablation
            and their_set.number = own_set.number
            and their_set.name = own_set.name
            and their_set.replacement = own_set.replacement
            and their_set.heads = own_set.heads
    )
),

own_rows as (
    select moved_run.run, measured.ablation, measured.what, count(*) as n
    from (
        select run, ablation, 'words' as what
        from source.main.ablated_surprisal as ablated_surprisal
        union all
        select run, ablation, source
        from source.main.ablated_pair as ablated_pair
    ) as measured
    inner join moved_run on moved_run.old = measured.run
    group by all
),

their_rows as (
    select run, ablation, what, count(*) as n
    from (
        select run, ablation, 'words' as what
        from main.ablated_surprisal as ablated_surprisal
        union all
        select run, ablation, source
        from main.ablated_pair as ablated_pair
    ) as measured
    group by all
),

more_rows as (
    select own_rows.run, own_rows.ablation
    from own_rows
    left join their_rows
        on their_rows.run = own_rows.run
        and their_rows.ablation = own_rows.ablation
        and their_rows.what = own_rows.what
    where own_rows.n > coalesce(their_rows.n, 0)
),

left_out as (
    select run, ablation
    from other_set
    union
    select run, ablation
    from more_rows
)

select run.name as run, left_out.ablation
from left_out
inner join main.run as run on run.id = left_out.run
where exists (
    select 1
    from main.ablation_set as ablation_set
    where ablation_set.run = left_out.run
        and ablation_set.ablation = left_out.ablation
)
order by left_out.run, left_out.ablation
