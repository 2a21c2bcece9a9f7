-- title: Figure 6 as points: the heads in a plane, with the behaviour of each
-- paper: Clark et al. 2019, section 6, figure 6
-- grain: one row per (layer, head)
-- formula: the columns x, y and behaviour of head_embedding
-- run: needs=sums favours=pair/token
-- plot: scatter x=x y=y color=behaviour,layer
-- caption x: MDS dimension 1 (nats per token)
-- caption y: MDS dimension 2 (nats per token)
-- note: with the defaults of head_embedding. The paper draws the picture twice, coloured by behaviour and by layer.
-- column layer, head
-- column x double: place along the axis on which the heads differ most
-- column y double: place along the other axis
-- column behaviour varchar: a relation, punctuation, sep, cls, broad, previous, next, or other
-- column run
select layer, head, x, y, behaviour, (select name from chosen_run) as run
from head_embedding(run := $run) as embedded_head
order by layer, head
