-- title: How much each head attends to the token at every offset, from ten before to ten after
-- paper: Clark et al. 2019, section 3.1
-- grain: one row per (layer, head, offset)
-- formula: weight(k) = mean over inputs of 1/n Σ_i α(i, i + k)
-- formula: present(k) = mean over inputs of 1/(n − |k|) Σ_i α(i, i + k), over the inputs with n > |k|
-- run: needs=shares favours=pair/token
-- weights: list_min($offsets) < -10 or list_max($offsets) > 10
-- plot: grid x=offset y=head color=weight panel=layer scale=sqrt
-- note: weight is the mean of relative_position, at every offset: the weights of a head over all offsets sum to 1.
--   present leaves out inputs that have no token there.
-- note: of a causal model both are null at the offsets to the right, where it cannot look.
-- param offsets integer[] = range(-10, 11): the offsets
-- column layer, head
-- column offset integer: position attended to minus position that attends: 1 is the next token; in SQL write "offset"
-- column weight double: mean weight there, by the length of the input; null to the right of a causal model
-- column present double: mean weight there, by the positions that have a token there; null where none has
-- column sequences, run
with profile_offset as (
    select distinct "offset" from (select unnest($offsets) as "offset") as entry
),

input_count as (
    select
        profile_offset."offset",
        count(*) as n,
        count(*) filter (where sequence.positions > abs(profile_offset."offset")) as n_present
    from sequence
    inner join chosen_run on chosen_run.id = sequence.run
    cross join profile_offset
    group by all
),

-- Inputs of one length are divided by the same numbers, so they are summed first. Sums of up to ten positions away are
-- kept with each map.
per_length as (
    select
        attention_map.layer, attention_map.head, sequence.positions, profile_offset."offset",
        sum(weight_at_offset(attention_map.offsets, profile_offset."offset")) as weight
    from attention_map
    inner join sequence on sequence.id = attention_map.sequence
    inner join chosen_run on chosen_run.id = sequence.run
    cross join profile_offset
    where abs(profile_offset."offset") <= 10
    group by all
    union all
    select
        distribution.layer, distribution.head, sequence.positions, profile_offset."offset",
        sum(weight_at(distribution.weights, distribution.from_position + profile_offset."offset")) as weight
    from distribution
    inner join sequence on sequence.id = distribution.sequence
    inner join chosen_run on chosen_run.id = sequence.run
    cross join profile_offset
    where (list_min($offsets) < -10 or list_max($offsets) > 10)
        and abs(profile_offset."offset") > 10
    group by all
),

per_offset as (
    select
        layer, head, "offset",
        sum(coalesce(weight, cast(0 as double)) / positions) as weight,
        sum(case when positions > abs("offset") then weight / (positions - abs("offset")) end) as present
    from per_length
    group by all
)

select
    per_offset.layer, per_offset.head, per_offset."offset",
    case when per_offset."offset" <= 0 or not chosen_run.is_causal then per_offset.weight / input_count.n end as weight,
    case
        when input_count.n_present > 0 and (per_offset."offset" <= 0 or not chosen_run.is_causal)
            then per_offset.present / input_count.n_present
    end as present,
    input_count.n as sequences,
    chosen_run.name as run
from per_offset
cross join chosen_run
inner join input_count using ("offset")
order by per_offset.layer, per_offset.head, per_offset."offset"
