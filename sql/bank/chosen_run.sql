-- The run that an analysis of attention maps takes: the named one, or the newest finished one of token pairs, else the newest.
select
    run.id,
    run.name,
    model.layers,
    model.heads,
    run.finished is not null as is_finished
from run
inner join model on model.id = run.model
where case
    when $run is null then run.finished is not null
    else run.name = $run or cast(run.id as varchar) = $run
end
order by case when run.context = 'pair' and run.unit = 'token' then 0 else 1 end, run.id desc
limit 1
