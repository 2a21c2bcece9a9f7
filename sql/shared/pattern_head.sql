-- title: pattern_score of a run, beside that of a control and its other seeds
-- grain: one row per (layer, head)
-- param run integer = null: run.id of the run
-- param control_run varchar = null: name or id of the control
-- param pattern varchar = 'induction': previous_token, duplicate_token or induction
-- param reads_weights, exclude_bos, exclude_current_token
-- column run integer: run.id of the run
-- column layer, head
-- column score double: share of the attention that goes there, a mean over inputs
-- column low double: lower end of the 95 % interval of score; null if all inputs are in one document
-- column high double: upper end of the 95 % interval of score
-- column chance double: score of even attention over the positions that each can see
-- column weight double: mean attention to it of the positions that have something there
-- column weight_low double: lower end of the 95 % interval of weight
-- column weight_high double: upper end of the 95 % interval of weight
-- column weight_chance double: weight of even attention
-- column control double: weight of the head of the same number in the control; null without one
-- column control_low double: the lowest such weight of the control and of its siblings, the same random weights of other
--   seeds
-- column control_high double: the highest one
-- column control_seeds bigint: how many runs these are of
-- column control_run varchar: name of the control; null without one
-- column n bigint: positions that have something there
-- column sequences
with

fitting as (
    select candidate.id, candidate.name
    from run_candidate(needs := 'shares', reads_weights := $reads_weights) as candidate
    where candidate.unusable_because is null
),

control as (
    select fitting.id, fitting.name
    from fitting
    where fitting.name = $control_run
        or cast(fitting.id as varchar) = $control_run
),

sibling as (
    select fitting.id
    from control
    inner join run on run.id = control.id
    inner join model on model.id = run.model
    inner join control_run() as other on other.run = control.id
    inner join fitting on fitting.id = other.control
    where model.random_seed is not null
        and fitting.id <> $run
    union
    select control.id
    from control
),

scored as (
    select scored.*
    from pattern_score(
        runs := (
            select list(asked.id) from (select $run as id union select sibling.id from sibling) as asked
        ),
        pattern := $pattern, exclude_bos := $exclude_bos, exclude_current_token := $exclude_current_token
    ) as scored
    where require(
        $control_run is null or (select count(*) from control) = 1,
        concat('There is no run ', $control_run, ' that can be a control here. Type: attnbank info')
    )
),

beside as (
    select
        scored.layer,
        scored.head,
        max(case when scored.run = (select control.id from control) then scored.weight end) as weight,
        min(scored.weight) as low,
        max(scored.weight) as high,
        count(scored.weight) as seeds
    from scored
    inner join sibling on sibling.id = scored.run
    group by scored.layer, scored.head
)

select
    scored.run,
    scored.layer,
    scored.head,
    scored.score,
    scored.low,
    scored.high,
    scored.chance,
    scored.weight,
    scored.weight_low,
    scored.weight_high,
    scored.weight_chance,
    beside.weight as control,
    beside.low as control_low,
    beside.high as control_high,
    coalesce(beside.seeds, 0) as control_seeds,
    (select control.name from control) as control_run,
    scored.n,
    scored.sequences
from scored
left join beside
    on beside.layer = scored.layer
    and beside.head = scored.head
where scored.run = $run
