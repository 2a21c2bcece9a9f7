-- title: How much each head attends to [CLS], to [SEP], to punctuation and to everything else
-- paper: Clark et al. 2019, section 3.2, figure 2
-- grain: one row per (layer, head)
-- formula: cls, sep, punctuation, other, first = mean over inputs of 1/n Σ_i Σ_{j ∈ T} α(i, j), T the target's positions
-- formula: sep_to_sep = mean over inputs of 1/|S| Σ_{i ∈ S} Σ_{j ∈ S} α(i, j), where S are the positions of [SEP]
-- formula: other_to_sep = mean over inputs of 1/(n − |S|) Σ_{i ∉ S} Σ_{j ∈ S} α(i, j)
-- formula: chance of a target = mean over inputs of |T| / n, or of a causal model 1/n Σ_i |{j ∈ T : j ≤ i}| / i
-- formula: in a run of norms α(i, j) is a length; cls, sep, punctuation, other and first are divided by Σ_i Σ_j α(i, j)
--   in place of n, and i and j are then not both a first word that is set apart
-- run: favours=pair/token
-- plot: grid color=cls,sep,punctuation,other domain=0,1
-- caption cls: Weight on [CLS]
-- caption sep: Weight on [SEP]
-- caption punctuation: Weight on . and ,
-- caption other: Weight on other tokens
-- note: view placement says which positions are of which target, by kind, not by spelling; punctuation is . and ,
-- note: as in the published code. An input without [SEP] has no part in sep_to_sep and other_to_sep.
-- note: chance is what uniform attention would give. For sep_to_sep and other_to_sep it is sep_chance.
-- note: a run of norms (run.measure) is scored by the share of all lengths of an input; sep_to_sep and other_to_sep are
--   null there. What a first word that is set apart attends to at itself is left out: with the residual connection it
--   can be a hundred times as long as all else (massive activations, Sun et al. 2024).
-- note: a sliding window (model.sliding_window) is ignored: in longer inputs the chances are those of full sight.
-- note: targets that no input has are null: cls and sep of a model without them, first of all but causal models with
--   nothing before the text.
-- column layer, head
-- column cls double: mean weight on [CLS]; null where no input has it
-- column sep double: mean weight on [SEP]; null where no input has it
-- column punctuation double: mean weight on . and ,
-- column other double: mean weight on everything else
-- column first double: mean weight on a first word that is set apart (run.first_word); null for none
-- column sep_to_sep double: mean weight of a [SEP] on itself and the other [SEP]
-- column other_to_sep double: mean weight of every other position on [SEP]
-- column cls_chance double: share of [CLS] among the positions
-- column sep_chance double: share of [SEP]
-- column punctuation_chance double: share of . and ,
-- column other_chance double: share of everything else
-- column first_chance double: share of first words that are set apart
-- column sequences, run
with input as materialized (
    select
        placement.sequence,
        cast(placement.positions as double) as positions,
        cast(place_count(placement.cls) as double) as n_cls,
        cast(place_count(placement.sep) as double) as n_sep,
        cast(place_count(placement.first_word) as double) as n_first,
        share.run is not null as is_share,
        placement.first_word,
        even_total(placement.cls, placement.positions, chosen_run.is_causal) as even_cls,
        even_total(placement.sep, placement.positions, chosen_run.is_causal) as even_sep,
        even_total(placement.first_word, placement.positions, chosen_run.is_causal) as even_first,
        even_total(placement.punctuation, placement.positions, chosen_run.is_causal) as even_punctuation
    from placement
    inner join chosen_run on chosen_run.id = placement.run
    left join run_capability as share
        on share.run = chosen_run.id
        and share.capability = 'shares'
),

map_sum as (
    select
        input.*,
        attention_map.layer, attention_map.head,
        attention_map.to_cls as cls,
        attention_map.to_sep as sep,
        attention_map.to_punctuation as punctuation,
        attention_map.to_other as other,
        attention_map.received,
        -- It sees nothing but itself, so that this is the largest weight that it has, too.
        case
            when input.is_share or input.n_first = 0 then cast(0 as double)
            else weight_on(attention_map.largest_weights, input.first_word)
        end as own_of_first,
        case when input.is_share then attention_map.sep_to_sep end as sep_to_sep
    from attention_map
    inner join input using (sequence)
),

per_sequence as (
    select
        map_sum.*,
        weight_on(received, first_word) - own_of_first as first,
        case when is_share then positions else weight_total(received) - own_of_first end as total
    from map_sum
)

select
    layer, head,
    case when max(n_cls) > 0 then avg(cls / total) end as cls,
    case when max(n_sep) > 0 then avg(sep / total) end as sep,
    avg(punctuation / total) as punctuation,
    avg(other / total) as other,
    case when max(n_first) > 0 then avg(first / total) end as first,
    avg(case when n_sep > 0 then sep_to_sep / n_sep end) as sep_to_sep,
    avg(
        case when is_share and n_sep > 0 and positions > n_sep then (sep - sep_to_sep) / (positions - n_sep) end
    ) as other_to_sep,
    case when max(n_cls) > 0 then avg(even_cls / positions) end as cls_chance,
    case when max(n_sep) > 0 then avg(even_sep / positions) end as sep_chance,
    avg(even_punctuation / positions) as punctuation_chance,
    avg((positions - even_cls - even_sep - even_punctuation - even_first) / positions) as other_chance,
    case when max(n_first) > 0 then avg(even_first / positions) end as first_chance,
    count(*) as sequences,
    (select name from chosen_run) as run
from per_sequence
group by layer, head
order by layer, head
