-- title: Figure 4 as points: the entropy of each head's attention
-- paper: Clark et al. 2019, section 3.3, figure 4
-- grain: one row per (panel, layer, head)
-- formula: the columns entropy (above) and entropy_from_cls (below) of entropy
-- run: needs=sums favours=pair/token
-- plot: points y=entropy rule=uniform panel=panel
-- note: with the defaults of entropy.
-- column panel varchar: above (from every token) or below (from [CLS])
-- column layer, head
-- column entropy double: mean entropy, in nats; null below without a [CLS], or if that sees itself alone (causal
--   models)
-- column uniform double: the line of uniform attention, in nats
-- column run
with head_point as (
    select
        breadth.layer, breadth.head,
        unnest([
            {'panel': 'above', 'entropy': breadth.entropy, 'uniform': breadth.uniform},
            {
                'panel': 'below',
                'entropy': breadth.entropy_from_cls,
                'uniform': case when not chosen_run.is_causal then breadth.uniform end
            }
        ]) as point
    from entropy(run := $run) as breadth
    cross join chosen_run
)

select
    point.panel as panel,
    layer, head,
    point.entropy as entropy,
    point.uniform as uniform,
    (select name from chosen_run) as run
from head_point
order by point.panel, layer, head
