-- title: Figure 3 as points: how much the loss depends on attention to a target, layer by layer
-- paper: Clark et al. 2019, section 3.2, figure 3
-- grain: one row per (target, layer)
-- formula: gradient(target, l) = mean of gradient_importance over the heads of layer l
-- run: needs=gradients
-- plot: lines x=layer y=gradient color=target
-- note: with the defaults of gradient_importance.
-- column target varchar: [CLS], [SEP], . and , or other
-- column layer
-- column gradient double: mean absolute gradient of the loss by a weight on the target, over the heads of the layer
-- column run
select
    case target
        when 'cls' then '[CLS]'
        when 'sep' then '[SEP]'
        when 'punctuation' then '. and ,'
        else target
    end as target,
    layer,
    avg(gradient) as gradient,
    (select name from chosen_run) as run
from gradient_importance(run := $run) as importance
group by target, layer
order by target, layer
