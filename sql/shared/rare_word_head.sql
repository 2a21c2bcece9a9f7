-- title: How often the maxima of each head of a run are on the rarest word of their input
-- grain: one row per (layer, head), over the inputs that have words
-- note: head_function says what is counted, and why.
-- param run integer = null: run.id of the run
-- column layer, head
-- column rare_word double: share of inputs whose commonest maximum is the rarest word
-- column maxima double: share of all maxima that are on the rarest word of their input
-- column chance double: share of the rarest word among the positions, a mean over inputs
-- column sequences bigint: inputs that have words
with rarest as materialized (
    select sequence, position, chance
    from rarest_position(run := $run) as place
),

maximum_count as (
    select sequence, layer, head, to_position, count(*) as n
    from map_maximum(run := $run) as maximum
    where sequence in (select sequence from rarest)
    group by all
),

input_maximum as (
    select
        maximum_count.sequence, maximum_count.layer, maximum_count.head,
        arg_max(
            case when rarest.position is null then 0 else 1 end, (maximum_count.n, -maximum_count.to_position)
        ) as is_on_rarest,
        sum(case when rarest.position is null then 0 else maximum_count.n end) as on_rarest,
        sum(maximum_count.n) as n
    from maximum_count
    left join rarest
        on rarest.sequence = maximum_count.sequence
        and rarest.position = maximum_count.to_position
    group by all
)

select
    layer, head,
    avg(cast(is_on_rarest as double)) as rare_word,
    ratio(sum(on_rarest), sum(n)) as maxima,
    (select sum(chance) / count(distinct sequence) from rarest) as chance,
    count(*) as sequences
from input_maximum
group by layer, head
