-- title: pattern_score of a run, with that of a control and its other seeds
-- grain: one row per (layer, head)
-- param run integer = null: run.id of the run
-- param control_run, pattern, reads_weights, exclude_bos, exclude_current_token
-- column layer, head, score, low, high, chance, weight, weight_low, weight_high, weight_chance of pattern_score
-- column control, control_low, control_high, control_seeds, control_run
-- column n, sequences of pattern_score
-- column run
with usable_run as (
    select id, name
    from run_candidate(needs := 'shares', reads_weights := $reads_weights) as candidate
    where unusable_because is null
),

control as (
    select id, name
    from usable_run
    where is_run_named(id, name, $control_run)
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
    select id
    from control
),

pattern as (
    select pattern.*
    from pattern_score(
        runs := (select list(id) from (select $run as id union select id from control_or_sibling) as scored_run),
        pattern := $pattern, exclude_bos := $exclude_bos, exclude_current_token := $exclude_current_token
    ) as pattern
    where require(
        $control_run is null or (select count(*) from control) = 1,
        concat('There is no run ', $control_run, ' that can be a control here. Type: attnbank info')
    )
),

control_range as (
    select
        pattern.layer, pattern.head,
        max(case when pattern.run = (select id from control) then pattern.weight end) as weight,
        min(pattern.weight) as low,
        max(pattern.weight) as high,
        count(pattern.weight) as seeds
    from pattern
    inner join control_or_sibling on control_or_sibling.id = pattern.run
    group by pattern.layer, pattern.head
)

select
    pattern.layer, pattern.head, pattern.score, pattern.low, pattern.high, pattern.chance, pattern.weight,
    pattern.weight_low, pattern.weight_high, pattern.weight_chance,
    control_range.weight as control,
    control_range.low as control_low,
    control_range.high as control_high,
    coalesce(control_range.seeds, 0) as control_seeds,
    (select name from control) as control_run,
    pattern.n, pattern.sequences,
    run.name as run
from pattern
inner join run on run.id = pattern.run
left join control_range using (layer, head)
where pattern.run = $run
