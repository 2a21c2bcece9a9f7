-- title: Figure 4 as points: the entropy of each head's attention
-- paper: Clark et al. 2019, section 3.3, figure 4
-- grain: one row per (panel, layer, head)
-- note: of the newest finished run of token pairs, else the newest, with the defaults of entropy.
-- column panel varchar: above (from every token) or below (from [CLS])
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column entropy double: mean entropy, in nats
-- column uniform double: the line of uniform attention, in nats
with

measured as (
    select broad.layer, broad.head, broad.entropy, broad.entropy_from_cls, broad.uniform
    from entropy() as broad
),

point as (
    select 'above' as panel, measured.layer, measured.head, measured.entropy, measured.uniform
    from measured
    union all
    select 'below' as panel, measured.layer, measured.head, measured.entropy_from_cls as entropy, measured.uniform
    from measured
)

select point.panel, point.layer, point.head, point.entropy, point.uniform
from point
order by point.panel, point.layer, point.head
