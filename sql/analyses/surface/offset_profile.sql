-- title: How much each head attends to the token at every offset, from ten before to ten after
-- paper: Clark et al. 2019, section 3.1
-- grain: one row per (layer, head, offset)
-- formula: weight(k) = mean over inputs of 1/n Σ_i α(i, i + k)
-- formula: present(k) = mean over inputs of 1/(n − |k|) Σ_i α(i, i + k), over the inputs with n > |k|
-- run: favours=pair/token
-- plot: grid x=offset y=head color=weight panel=layer scale=sqrt
-- note: weight is the mean of relative_position, at every offset: the weights at the offset are summed and divided by
--   the length of the input, so that the weights of a head over all offsets sum to 1. present divides by the number of
--   positions that have a token there, and leaves out inputs that have none.
-- note: offset is a word of SQL: write "offset", or qualify it.
-- param offsets integer[] = range(-10, 11): the offsets
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights that fits, of token pairs before others
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column offset integer: position attended to minus position that attends: 1 is the next token
-- column weight double: mean weight there, by the length of the input
-- column present double: mean weight there, by the positions that have a token there; null where none has
-- column sequences bigint: inputs that the mean is over
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(asked := $run, favours := 'pair/token') as chosen
),

tried as (
    select distinct listed."offset"
    from (select unnest($offsets) as "offset") as listed
),

input as (
    select
        sequence.id as sequence,
        tried."offset",
        cast(sequence.positions as double) as positions,
        cast(sequence.positions - abs(tried."offset") as double) as present
    from sequence
    inner join chosen_run on chosen_run.id = sequence.run
    cross join tried
),

inputs as (
    select
        input."offset",
        count(*) as n,
        sum(case when input.present > 0 then 1 else 0 end) as n_present
    from input
    group by input."offset"
),

numbered as (
    select tried."offset", row_number() over (order by tried."offset") - 1 as number
    from tried
),

placed as (
    select
        numbered."offset",
        cast(floor(cast(numbered.number as double) / 8) as integer) as block,
        cast(numbered.number % 8 + 1 as integer) as place
    from numbered
),

-- The weights are summed eight offsets at a time: that takes half of the time that one row for each offset takes.
block as (
    select
        placed.block as number,
        max(case when placed.place = 1 then placed."offset" end) as offset_1,
        max(case when placed.place = 2 then placed."offset" end) as offset_2,
        max(case when placed.place = 3 then placed."offset" end) as offset_3,
        max(case when placed.place = 4 then placed."offset" end) as offset_4,
        max(case when placed.place = 5 then placed."offset" end) as offset_5,
        max(case when placed.place = 6 then placed."offset" end) as offset_6,
        max(case when placed.place = 7 then placed."offset" end) as offset_7,
        max(case when placed.place = 8 then placed."offset" end) as offset_8
    from placed
    group by placed.block
),

-- Inputs of one length are divided by the same numbers, so they are summed first.
summed as (
    select
        attention.layer,
        attention.head,
        sequence.positions,
        block.number,
        sum(weight_at(attention.weights, attention.from_position + block.offset_1)) as weight_1,
        sum(weight_at(attention.weights, attention.from_position + block.offset_2)) as weight_2,
        sum(weight_at(attention.weights, attention.from_position + block.offset_3)) as weight_3,
        sum(weight_at(attention.weights, attention.from_position + block.offset_4)) as weight_4,
        sum(weight_at(attention.weights, attention.from_position + block.offset_5)) as weight_5,
        sum(weight_at(attention.weights, attention.from_position + block.offset_6)) as weight_6,
        sum(weight_at(attention.weights, attention.from_position + block.offset_7)) as weight_7,
        sum(weight_at(attention.weights, attention.from_position + block.offset_8)) as weight_8
    from attention
    inner join sequence on sequence.id = attention.sequence
    inner join chosen_run on chosen_run.id = sequence.run
    cross join block
    group by attention.layer, attention.head, sequence.positions, block.number
),

listed as (
    select
        summed.layer,
        summed.head,
        summed.number as block,
        cast(summed.positions as double) as positions,
        [
            summed.weight_1, summed.weight_2, summed.weight_3, summed.weight_4,
            summed.weight_5, summed.weight_6, summed.weight_7, summed.weight_8
        ] as weights,
        unnest(range(1, 9)) as place
    from summed
),

of_offset as (
    select
        listed.layer,
        listed.head,
        placed."offset",
        listed.positions,
        listed.positions - abs(placed."offset") as present,
        list_extract(listed.weights, listed.place) as weight
    from listed
    inner join placed
        on placed.block = listed.block
        and placed.place = listed.place
),

total as (
    select
        of_offset.layer,
        of_offset.head,
        of_offset."offset",
        sum(coalesce(of_offset.weight, cast(0 as double)) / of_offset.positions) as weight,
        sum(case when of_offset.present > 0 then of_offset.weight / of_offset.present end) as present
    from of_offset
    group by of_offset.layer, of_offset.head, of_offset."offset"
)

select
    total.layer,
    total.head,
    total."offset",
    total.weight / inputs.n as weight,
    case when inputs.n_present > 0 then total.present / inputs.n_present end as present,
    inputs.n as sequences,
    (select chosen_run.name from chosen_run) as run
from total
inner join inputs on inputs."offset" = total."offset"
order by total.layer, total.head, total."offset"
