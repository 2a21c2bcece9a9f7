-- title: How much each head attends to the previous token, to the token itself and to the next
-- paper: Clark et al. 2019, section 3.1
-- grain: one row per (layer, head)
-- formula: previous, self, next = means over inputs of 1/n Σ_i α(i, i − 1), 1/n Σ_i α(i, i) and 1/n Σ_i α(i, i + 1)
-- formula: chance = mean over inputs of 1/n; previous_chance, next_chance = mean over inputs of (n − 1)/n²
-- formula: of a causal model, with H = Σ_{k=1}^n 1/k: chance = mean of H/n, previous_chance of (H − 1)/n
-- run: needs=shares favours=pair/token
-- plot: grid color=previous,self,next domain=0,1
-- caption previous: Weight on previous token
-- caption self: Weight on the token itself
-- caption next: Weight on next token
-- note: as in the published code, an input of n tokens, special ones too, has n - 1 next tokens, but is divided by n.
-- note: previous is to the left (a smaller position), next to the right. The published notebook's legend swaps them.
-- note: a sliding window (model.sliding_window) is ignored: in inputs longer than it the chances are too small.
-- column layer, head
-- column previous double: mean weight on the position before
-- column self double: mean weight on the position itself
-- column next double: mean weight on the position after; null of a causal model, which cannot look there
-- column chance double: what uniform attention puts on a position itself
-- column previous_chance double: what it puts on the position before
-- column next_chance double: what it puts on the position after
-- column sequences, run
with input as materialized (
    select
        sequence.id as sequence,
        sequence.positions, chosen_run.is_causal,
        case
            when chosen_run.is_causal then harmonic(sequence.positions) / sequence.positions
            else cast(1 as double) / sequence.positions
        end as chance,
        case
            when chosen_run.is_causal then (harmonic(sequence.positions) - 1) / sequence.positions
            else cast(sequence.positions - 1 as double) / (cast(sequence.positions as double) * sequence.positions)
        end as previous_chance
    from sequence
    inner join chosen_run on chosen_run.id = sequence.run
),

per_sequence as (
    select
        input.*,
        attention_map.layer, attention_map.head,
        weight_at_offset(attention_map.offsets, -1) as previous,
        weight_at_offset(attention_map.offsets, 0) as self,
        case when not input.is_causal then weight_at_offset(attention_map.offsets, 1) end as next
    from attention_map
    inner join input using (sequence)
)

select
    layer, head,
    avg(previous / positions) as previous,
    avg(self / positions) as self,
    avg(next / positions) as next,
    avg(chance) as chance,
    avg(previous_chance) as previous_chance,
    avg(case when not is_causal then previous_chance end) as next_chance,
    count(*) as sequences,
    (select name from chosen_run) as run
from per_sequence
group by layer, head
order by layer, head
