-- title: Figure 3 as points: how much the loss depends on attention to a target, layer by layer
-- paper: Clark et al. 2019, section 3.2, figure 3
-- grain: one row per (target, layer)
-- formula: gradient(target, l) = mean of gradient_importance over the heads of layer l
-- run: needs=gradients
-- plot: lines x=layer y=gradient color=target
-- note: with the defaults of gradient_importance.
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights with gradients
-- column target varchar: [CLS], [SEP], . and , or other
-- column layer smallint: 1-based layer
-- column gradient double: mean absolute gradient of the loss by a weight on the target, over the heads of the layer
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(asked := $run, needs := 'gradients', equipped := runs_with_gradients()) as chosen
)

select
    case importance.target
        when 'cls' then '[CLS]'
        when 'sep' then '[SEP]'
        when 'punctuation' then '. and ,'
        else importance.target
    end as target,
    importance.layer,
    avg(importance.gradient) as gradient,
    (select chosen_run.name from chosen_run) as run
from gradient_importance(run := $run) as importance
group by importance.target, importance.layer
order by target, importance.layer
