-- title: Figure 2 as points: how much each head attends to special tokens and punctuation
-- paper: Clark et al. 2019, section 3.2, figure 2
-- grain: one row per (panel, target, layer, head)
-- formula: the columns cls, sep, punctuation (above), sep_to_sep and other_to_sep (below) of special_tokens
-- run: favours=pair/token
-- plot: points y=attention color=target panel=panel domain=0,1
-- note: with the defaults of special_tokens.
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights that fits, of token pairs before others
-- column panel varchar: above (from every token) or below (to [SEP], by the token that attends)
-- column target varchar: [CLS], [SEP] or . and , (above); [SEP] -> [SEP] or other -> [SEP] (below)
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column attention double: mean weight, in [0, 1]
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(asked := $run, favours := 'pair/token') as chosen
),

measured as (
    select
        special.layer,
        special.head,
        special.cls,
        special.sep,
        special.punctuation,
        special.sep_to_sep,
        special.other_to_sep
    from special_tokens(run := $run) as special
),

point as (
    select 'above' as panel, '[CLS]' as target, measured.layer, measured.head, measured.cls as attention
    from measured
    union all
    select 'above' as panel, '[SEP]' as target, measured.layer, measured.head, measured.sep as attention
    from measured
    union all
    select 'above' as panel, '. and ,' as target, measured.layer, measured.head, measured.punctuation as attention
    from measured
    union all
    select 'below' as panel, '[SEP] -> [SEP]' as target, measured.layer, measured.head, measured.sep_to_sep as attention
    from measured
    union all
    select
        'below' as panel,
        'other -> [SEP]' as target,
        measured.layer,
        measured.head,
        measured.other_to_sep as attention
    from measured
)

select
    point.panel,
    point.target,
    point.layer,
    point.head,
    point.attention,
    (select chosen_run.name from chosen_run) as run
from point
order by point.panel, point.target, point.layer, point.head
