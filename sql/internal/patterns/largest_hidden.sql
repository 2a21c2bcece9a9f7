-- The largest weight that some heads of a run of --keep top:K may have lost, and K; no row for other runs.
select
    top_run.largest,
    max(
        case
            when attention_top.rest > 0
                then cast(
                    least(list_extract(attention_top.weights, len(attention_top.weights)), attention_top.rest) as double
                )
        end
    ) as hidden
from top_run
inner join sequence on sequence.run = top_run.run
inner join attention_top on attention_top.sequence = sequence.id
where top_run.run = $run
    and not top_run.is_whole
    and ($layer is null or attention_top.layer = $layer)
    and ($head is null or attention_top.head = $head)
group by all
