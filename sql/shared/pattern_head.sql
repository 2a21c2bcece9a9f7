-- title: pattern_score of a run, with that of a control and its other seeds
-- grain: one row per (layer, head)
-- param run integer = null: run.id of the run
-- param control_run varchar = null: name or id of the control
-- param pattern varchar = 'induction': previous_token, duplicate_token or induction
-- param reads_weights, exclude_bos, exclude_current_token
-- column run integer: run.id of the run
-- column layer, head
-- column score double: share of the attention that goes to the targets, a mean over inputs
-- column low double: lower end of the 95 % interval of score; null if all inputs are in one document
-- column high double: upper end of the 95 % interval of score
-- column chance double: score of uniform attention over the positions that each can see
-- column weight double: mean attention to the targets of the positions that have any
-- column weight_low double: lower end of the 95 % interval of weight
-- column weight_high double: upper end of the 95 % interval of weight
-- column weight_chance double: weight of uniform attention
-- column control double: weight of the head of the same number in the control; null without one
-- column control_low double: the lowest such weight of the control and of its siblings, the same random weights of
--   other seeds
-- column control_high double: highest such weight
-- column control_seeds bigint: number of these runs
-- column control_run varchar: name of the control; null without one
-- column n bigint: positions that have a target
-- column sequences
with

usable_run as (
    select candidate.id, candidate.name
    from run_candidate(needs := 'shares', reads_weights := $reads_weights) as candidate
    where candidate.unusable_because is null
),

control as (
    select usable_run.id, usable_run.name
    from usable_run
    where is_run_named(usable_run.id, usable_run.name, $control_run)
),

-- The runs whose range is shown: not $run itself, unless it is the control.
control_or_sibling as (
    select usable_run.id
    from control
    inner join run on run.id = control.id
    inner join model on model.id = run.model
    inner join control_run() as control_of_seed on control_of_seed.run = control.id
    inner join usable_run on usable_run.id = control_of_seed.control
    where model.random_seed is not null
        and usable_run.id <> $run
    union
    select control.id
    from control
),

pattern as (
    select pattern.*
    from pattern_score(
        runs := (
            select list(scored_run.id)
            from (select $run as id union select control_or_sibling.id from control_or_sibling) as scored_run
        ),
        pattern := $pattern, exclude_bos := $exclude_bos, exclude_current_token := $exclude_current_token
    ) as pattern
    where require(
        $control_run is null or (select count(*) from control) = 1,
        concat('There is no run ', $control_run, ' that can be a control here. Type: attnbank info')
    )
),

control_range as (
    select
        pattern.layer,
        pattern.head,
        max(case when pattern.run = (select control.id from control) then pattern.weight end) as weight,
        min(pattern.weight) as low,
        max(pattern.weight) as high,
        count(pattern.weight) as seeds
    from pattern
    inner join control_or_sibling on control_or_sibling.id = pattern.run
    group by pattern.layer, pattern.head
)

select
    pattern.run,
    pattern.layer,
    pattern.head,
    pattern.score,
    pattern.low,
    pattern.high,
    pattern.chance,
    pattern.weight,
    pattern.weight_low,
    pattern.weight_high,
    pattern.weight_chance,
    control_range.weight as control,
    control_range.low as control_low,
    control_range.high as control_high,
    coalesce(control_range.seeds, 0) as control_seeds,
    (select control.name from control) as control_run,
    pattern.n,
    pattern.sequences
from pattern
left join control_range
    on control_range.layer = pattern.layer
    and control_range.head = pattern.head
where pattern.run = $run
