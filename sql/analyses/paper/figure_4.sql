-- title: Figure 4 as points: the entropy of each head's attention
-- paper: Clark et al. 2019, section 3.3, figure 4
-- grain: one row per (panel, layer, head)
-- formula: the columns entropy (above) and entropy_from_cls (below) of entropy
-- run: favours=pair/token
-- plot: points y=entropy rule=uniform panel=panel
-- note: with the defaults of entropy.
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights that fits, of token pairs before others
-- column panel varchar: above (from every token) or below (from [CLS])
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column entropy double: mean entropy, in nats
-- column uniform double: the line of uniform attention, in nats
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(asked := $run, favours := 'pair/token') as chosen
),

measured as (
    select broad.layer, broad.head, broad.entropy, broad.entropy_from_cls, broad.uniform
    from entropy(run := $run) as broad
),

point as (
    select 'above' as panel, measured.layer, measured.head, measured.entropy, measured.uniform
    from measured
    union all
    select 'below' as panel, measured.layer, measured.head, measured.entropy_from_cls as entropy, measured.uniform
    from measured
)

select
    point.panel,
    point.layer,
    point.head,
    point.entropy,
    point.uniform,
    (select chosen_run.name from chosen_run) as run
from point
order by point.panel, point.layer, point.head
