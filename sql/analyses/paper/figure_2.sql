-- title: Figure 2 as points: how much each head attends to special tokens and punctuation
-- paper: Clark et al. 2019, section 3.2, figure 2
-- grain: one row per (panel, target, layer, head)
-- formula: the columns cls, sep, punctuation (above), sep_to_sep and other_to_sep (below) of special_tokens
-- run: favours=pair/token
-- plot: points y=attention color=target panel=panel domain=0,1
-- note: with the defaults of special_tokens. Points of [CLS] and [SEP] are null where no input has these; there are
--   points of the first word where it is set apart (run.first_word).
-- column panel varchar: above (from every token) or below (to [SEP], by the token that attends)
-- column target varchar: [CLS], [SEP], . and , or first word (above); [SEP] -> [SEP] or other -> [SEP] (below)
-- column layer, head
-- column attention double: mean weight, in [0, 1]
-- column run
with head_point as (
    select
        layer, head,
        unnest([
            {'panel': 'above', 'target': '[CLS]', 'attention': cls},
            {'panel': 'above', 'target': '[SEP]', 'attention': sep},
            {'panel': 'above', 'target': '. and ,', 'attention': punctuation},
            {'panel': 'above', 'target': 'first word', 'attention': first},
            {'panel': 'below', 'target': '[SEP] -> [SEP]', 'attention': sep_to_sep},
            {'panel': 'below', 'target': 'other -> [SEP]', 'attention': other_to_sep}
        ]) as point
    from special_tokens(run := $run) as special
)

select
    point.panel as panel,
    point.target as target,
    layer, head,
    point.attention as attention,
    (select name from chosen_run) as run
from head_point
where point.target <> 'first word'
    or point.attention is not null
order by point.panel, point.target, layer, head
