-- title: Figure 6 as points: the heads in a plane, with what they do
-- paper: Clark et al. 2019, section 6, figure 6
-- grain: one row per (layer, head)
-- formula: the columns x, y and behaviour of head_embedding
-- run: favours=pair/token
-- plot: scatter x=x y=y color=behaviour,layer
-- note: with the defaults of head_embedding.
-- note: the paper draws the picture twice, coloured by behaviour and by layer.
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights that fits, of token pairs before others
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column x double: place along the axis on which the heads differ most
-- column y double: place along the other axis
-- column behaviour varchar: a relation, punctuation, sep, cls, broad, previous, next, or other
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(asked := $run, favours := 'pair/token') as chosen
)

select
    placed.layer,
    placed.head,
    placed.x,
    placed.y,
    placed.behaviour,
    (select chosen_run.name from chosen_run) as run
from head_embedding(run := $run) as placed
order by placed.layer, placed.head
