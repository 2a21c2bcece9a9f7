-- title: How much the loss would change with each head's attention to a target: the mean absolute gradient
-- paper: Clark et al. 2019, section 3.2, figure 3
-- grain: one row per (layer, head, target)
-- formula: gradient(T) = mean over inputs of 1/(n |T|) Σ_i Σ_{j ∈ T} |∂L / ∂α(i, j)|, over the inputs where T, the
--   positions of the target, is not empty
-- formula: L = −mean of ln P(token) over the masked tokens of the input
-- run: needs=gradients
-- plot: grid color=gradient panel=target
-- note: L is the masked-language-model loss; table gradient says over which tokens.
-- note: view placement says which positions belong to which target. Gradients are made by attnbank ingest --gradients.
-- column layer, head
-- column target varchar: cls, sep, punctuation or other
-- column gradient double: mean absolute gradient of the loss by the weight on a position of the target
-- column sequences bigint: inputs that have the target
-- column run
with input as materialized (
    select
        placement.sequence,
        cast(placement.positions as double) as positions,
        placement.cls, placement.sep, placement.punctuation,
        place_count(placement.cls) as n_cls,
        place_count(placement.sep) as n_sep,
        place_count(placement.punctuation) as n_punctuation,
        mask_without(placement.cls, placement.sep, placement.punctuation, placement.positions) as other
    from placement
    inner join chosen_run on chosen_run.id = placement.run
),

absolute_gradient as (
    select sequence, layer, head, list_transform(gradients, lambda value: abs(cast(value as double))) as gradients
    from gradient
),

gradient_map as (
    select
        absolute_gradient.sequence, absolute_gradient.layer, absolute_gradient.head,
        sum(weight_on(absolute_gradient.gradients, input.cls)) as cls,
        sum(weight_on(absolute_gradient.gradients, input.sep)) as sep,
        sum(weight_on(absolute_gradient.gradients, input.punctuation)) as punctuation,
        sum(weight_under(absolute_gradient.gradients, input.other)) as other
    from absolute_gradient
    inner join input using (sequence)
    group by all
),

per_target as (
    select
        gradient_map.layer, gradient_map.head, input.positions,
        unnest([
            {'name': 'cls', 'places': input.n_cls, 'gradient': gradient_map.cls},
            {'name': 'sep', 'places': input.n_sep, 'gradient': gradient_map.sep},
            {'name': 'punctuation', 'places': input.n_punctuation, 'gradient': gradient_map.punctuation},
            {
                'name': 'other',
                'places': input.positions - input.n_cls - input.n_sep - input.n_punctuation,
                'gradient': gradient_map.other
            }
        ]) as point
    from gradient_map
    inner join input using (sequence)
)

select
    layer, head,
    point.name as target,
    avg(point.gradient / (positions * point.places)) as gradient,
    count(*) as sequences,
    (select name from chosen_run) as run
from per_target
where point.places > 0
group by layer, head, point.name
order by layer, head, target
