-- The ablations of an attached source that the new bank has others of: of the same run and name, with other sets
-- of heads or of edges, or fewer rows. The runs $old of the source are the runs $new of the new bank.
with moved_run as (
    select unnest(cast($old as integer[])) as old, unnest(cast($new as integer[])) as run
),

own_set as (
    select
        moved_run.run, ablation_set.ablation, ablation_set.number, ablation_set.name, ablation_set.replacement,
        ablation_set.relation, ablation_set.direction, ablation_set.cut_at, ablation_set.seed,
        list([ablated_head.layer, ablated_head.head] order by ablated_head.layer, ablated_head.head) as heads
    from source.main.ablation_set as ablation_set
    inner join source.main.ablated_head as ablated_head using (run, ablation, number)
    inner join moved_run on moved_run.old = ablation_set.run
    group by all
),

their_set as (
    select
        ablation_set.run, ablation_set.ablation, ablation_set.number, ablation_set.name, ablation_set.replacement,
        ablation_set.relation, ablation_set.direction, ablation_set.cut_at, ablation_set.seed,
        list([ablated_head.layer, ablated_head.head] order by ablated_head.layer, ablated_head.head) as heads
    from main.ablation_set as ablation_set
    inner join main.ablated_head as ablated_head using (run, ablation, number)
    group by all
),

other_set as (
    select * from own_set
    except
    select * from their_set
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

left_out as (
    select run, ablation
    from other_set
    union
    select run, ablation
    from own_rows
    left join their_rows using (run, ablation, what)
    where own_rows.n > coalesce(their_rows.n, 0)
)

select run.name as run, left_out.ablation
from left_out
semi join main.ablation_set as ablation_set using (run, ablation)
inner join main.run as run on run.id = left_out.run
order by left_out.run, left_out.ablation
