-- title: How much each head attends to the previous token, to the token itself and to the next
-- paper: Clark et al. 2019, section 3.1
-- grain: one row per (layer, head)
-- formula: previous = mean over inputs of 1/n Σ_i α(i, i − 1)
-- formula: self = mean over inputs of 1/n Σ_i α(i, i)
-- formula: next = mean over inputs of 1/n Σ_i α(i, i + 1)
-- formula: chance = mean over inputs of 1/n
-- run: favours=pair/token
-- plot: grid color=previous,self,next domain=0,1
-- note: as in the published code, the weights on the diagonal are summed and divided by the length of the input,
--   special tokens included, and the mean over inputs is taken: an input of n tokens has n - 1 next tokens, but is
--   divided by n.
-- note: previous is to the left (a smaller position), next to the right. The legend of the published notebook's plot
--   swaps the two.
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights that fits, of token pairs before others
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column previous double: mean weight on the position before
-- column self double: mean weight on the position itself
-- column next double: mean weight on the position after
-- column chance double: what uniform attention puts on a position itself: the mean of 1 / length
-- column sequences bigint: inputs that the means are over
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(asked := $run, favours := 'pair/token') as chosen
),

per_sequence as (
    select
        attention_map.layer,
        attention_map.head,
        sequence.positions,
        weight_at_offset(attention_map.offsets, -1) as previous,
        weight_at_offset(attention_map.offsets, 0) as self,
        weight_at_offset(attention_map.offsets, 1) as next
    from attention_map
    inner join sequence on sequence.id = attention_map.sequence
    inner join chosen_run on chosen_run.id = sequence.run
)

select
    per_sequence.layer,
    per_sequence.head,
    avg(per_sequence.previous / per_sequence.positions) as previous,
    avg(per_sequence.self / per_sequence.positions) as self,
    avg(per_sequence.next / per_sequence.positions) as next,
    avg(cast(1 as double) / per_sequence.positions) as chance,
    count(*) as sequences,
    (select chosen_run.name from chosen_run) as run
from per_sequence
group by per_sequence.layer, per_sequence.head
order by per_sequence.layer, per_sequence.head
