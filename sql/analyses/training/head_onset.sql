-- title: The step of a training from which each head is above its baseline
-- paper: Olsson et al. 2022 (In-context learning and induction heads); Chen et al. 2024 (Sudden drops in the loss)
-- grain: one row per (layer, head, direction), the earliest first
-- formula: onset = min {s : low(t) > baseline(t) + margin for all checkpoints t ≥ s}
-- run: needs=series
-- weights: $measure in ('duplicate_token', 'induction')
-- plot: points y=onset
-- empty: the run has no such measure (accuracy needs trees and a run of words, uuas: attnbank compute attention_tree)
-- note: low is the lower end of the 95 % interval, and baseline that of head_history: the best fixed offset, adjacent
--   words, or uniform attention. Onset is null where the head is not above it at the last step.
-- note: it lies between before, the last checkpoint at which the head is not yet above, and onset: checkpoints that are
--   far apart say little. Intervals are of single heads: of many heads some are above by chance, and with many inputs
--   so is a negligible difference. margin requires a larger one.
-- param measure varchar = 'accuracy' {accuracy, uuas, previous_token, duplicate_token, induction}: the measure
-- param relation of head_measure
-- param margin double = 0.0: how far low must be above the baseline
-- param run
-- column layer, head, direction of head_measure
-- column onset bigint: the first step from which on it stays above its baseline; null for never
-- column before bigint: the step of the last checkpoint at which it is not above; null for none
-- column tokens_seen bigint: tokens that the model had seen at the onset; null where that is not known
-- column value double: its value at the last step
-- column baseline double: the baseline at the last step
-- column checkpoints bigint: checkpoints that have the measure
-- column run varchar: name of the run of the last checkpoint
with checkpoint as materialized (
    select matching_run.*
    from series_run(anchor := (select id from chosen_run)) as matching_run
),

checkpoint_value as materialized (
    select
        checkpoint.step, checkpoint.tokens_seen,
        checkpoint.name as run_name,
        head_value.*,
        coalesce(head_value.low > head_value.baseline + $margin, false) as is_above
    from head_measure(
        runs := (select list(id) from checkpoint), measure := $measure, relation := $relation
    ) as head_value
    inner join checkpoint on checkpoint.id = head_value.run
),

-- The last step at which the head is not above its baseline: the onset is the step after it.
last_below as (
    select layer, head, direction, max(case when not is_above then step end) as before, count(*) as checkpoints
    from checkpoint_value
    group by all
),

onset as (
    select
        last_below.layer, last_below.head, last_below.direction, last_below.before, last_below.checkpoints,
        min(
            case
                when last_below.before is null or checkpoint_value.step > last_below.before then checkpoint_value.step
            end
        ) as onset
    from last_below
    inner join checkpoint_value
        on checkpoint_value.layer = last_below.layer
        and checkpoint_value.head = last_below.head
        and checkpoint_value.direction is not distinct from last_below.direction
    group by all
)

select
    onset.layer, onset.head, onset.direction, onset.onset, onset.before, checkpoint.tokens_seen, checkpoint_value.value,
    checkpoint_value.baseline, onset.checkpoints,
    checkpoint_value.run_name as run
from onset
inner join checkpoint_value
    on checkpoint_value.layer = onset.layer
    and checkpoint_value.head = onset.head
    and checkpoint_value.direction is not distinct from onset.direction
    and checkpoint_value.step = (select max(step) from checkpoint as any_checkpoint)
left join checkpoint on checkpoint.step = onset.onset
order by
    case when onset.onset is null then 1 else 0 end,
    onset.onset, checkpoint_value.value desc, onset.layer, onset.head, onset.direction
