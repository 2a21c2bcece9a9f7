-- title: How much each head attends to [CLS], to [SEP], to punctuation and to everything else
-- paper: Clark et al. 2019, section 3.2, figure 2
-- grain: one row per (layer, head)
-- formula: cls, sep, punctuation, other = mean over inputs of 1/n Σ_i Σ_{j ∈ T} α(i, j), where T are the positions
--   of the target
-- formula: sep_to_sep = mean over inputs of 1/|S| Σ_{i ∈ S} Σ_{j ∈ S} α(i, j), where S are the positions of [SEP]
-- formula: other_to_sep = mean over inputs of 1/(n − |S|) Σ_{i ∉ S} Σ_{j ∈ S} α(i, j)
-- formula: chance of a target = mean over inputs of |T| / n
-- run: favours=pair/token
-- plot: grid color=cls,sep,punctuation,other domain=0,1
-- note: which positions count as what is in view placement: kinds of position, not spellings; punctuation is only .
--   and ,
-- note: as in the published code, the weights to a target are summed and divided by the length of the input;
--   sep_to_sep is divided by the number of [SEP], other_to_sep by the rest; then the mean over inputs is taken. An
--   input without [SEP] has no part in these two.
-- note: chance is what uniform attention would give: the share of positions of that role, averaged the same way. For
--   sep_to_sep and other_to_sep it is sep_chance.
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights that fits, of token pairs before others
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column cls double: mean weight on [CLS]
-- column sep double: mean weight on [SEP]
-- column punctuation double: mean weight on . and ,
-- column other double: mean weight on everything else
-- column sep_to_sep double: mean weight of a [SEP] on itself and the other [SEP]
-- column other_to_sep double: mean weight of every other position on [SEP]
-- column cls_chance double: share of [CLS] among the positions
-- column sep_chance double: share of [SEP]
-- column punctuation_chance double: share of . and ,
-- column other_chance double: share of everything else
-- column sequences bigint: inputs that the means are over
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(asked := $run, favours := 'pair/token') as chosen
),

input as materialized (
    select
        placement.sequence,
        cast(placement.positions as double) as positions,
        cast(place_count(placement.cls) as double) as n_cls,
        cast(place_count(placement.sep) as double) as n_sep,
        cast(place_count(placement.punctuation) as double) as n_punctuation
    from placement
    inner join chosen_run on chosen_run.id = placement.run
),

per_sequence as (
    select
        attention_map.layer,
        attention_map.head,
        input.positions,
        input.n_cls,
        input.n_sep,
        input.n_punctuation,
        attention_map.to_cls as cls,
        attention_map.to_sep as sep,
        attention_map.to_punctuation as punctuation,
        attention_map.to_other as other,
        attention_map.sep_to_sep
    from attention_map
    inner join input on input.sequence = attention_map.sequence
)

select
    per_sequence.layer,
    per_sequence.head,
    avg(per_sequence.cls / per_sequence.positions) as cls,
    avg(per_sequence.sep / per_sequence.positions) as sep,
    avg(per_sequence.punctuation / per_sequence.positions) as punctuation,
    avg(per_sequence.other / per_sequence.positions) as other,
    avg(case when per_sequence.n_sep > 0 then per_sequence.sep_to_sep / per_sequence.n_sep end) as sep_to_sep,
    avg(
        case
            when per_sequence.n_sep > 0 and per_sequence.positions > per_sequence.n_sep
                then (per_sequence.sep - per_sequence.sep_to_sep) / (per_sequence.positions - per_sequence.n_sep)
        end
    ) as other_to_sep,
    avg(per_sequence.n_cls / per_sequence.positions) as cls_chance,
    avg(per_sequence.n_sep / per_sequence.positions) as sep_chance,
    avg(per_sequence.n_punctuation / per_sequence.positions) as punctuation_chance,
    avg(
        (per_sequence.positions - per_sequence.n_cls - per_sequence.n_sep - per_sequence.n_punctuation)
        / per_sequence.positions
    ) as other_chance,
    count(*) as sequences,
    (select chosen_run.name from chosen_run) as run
from per_sequence
group by per_sequence.layer, per_sequence.head
order by per_sequence.layer, per_sequence.head
