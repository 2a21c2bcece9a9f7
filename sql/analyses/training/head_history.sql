-- title: A measure of each head at every checkpoint of a training
-- paper: Olsson et al. 2022 (In-context learning and induction heads); Chen et al. 2024 (Sudden drops in the loss)
-- grain: one row per (head and direction, step)
-- formula: value = accuracy of head_accuracy; uuas of tree_accuracy; weight of previous_token_head,
--   duplicate_token_head or induction_head; or entropy, each over the run of the checkpoint of that step
-- run: needs=series
-- weights: $measure in ('duplicate_token', 'induction')
-- plot: lines x=step y=value color=name low=low high=high rule=baseline along=log
-- empty: the run has no such measure (accuracy needs trees and a run of words, uuas: attnbank compute attention_tree)
-- note: the runs are those of all checkpoints of the series of the run that answers which are like it: attnbank ingest
--   CORPUS --model FOLDER --series 'step*'.
-- note: induction heads are seen on random tokens that come twice: attnbank ingest --repeat 30 --series 'step*', and
--   name a run over these.
-- param measure, relation of head_measure
-- param layer smallint = null: only this layer
-- param head smallint = null: only this head of each layer
-- param direction varchar = null {dependent_to_head, head_to_dependent, both, later_to_earlier}: of accuracy and uuas,
--   only this direction
-- param top integer = 5: number of heads, those best at the last step (the lowest entropy); null for all
-- param run
-- column name varchar: the head as 3-1, with its direction
-- column layer, head, direction of head_measure
-- column step, tokens_seen
-- column value, low, high, baseline, n of head_measure
-- column run varchar: name of the run of that checkpoint
with checkpoint as materialized (
    select matching_run.*
    from series_run(anchor := (select id from chosen_run)) as matching_run
),

checkpoint_value as (
    select
        checkpoint.step, checkpoint.tokens_seen,
        checkpoint.name as run_name,
        head_value.*,
        case when $measure = 'entropy' then head_value.value else -head_value.value end as from_best
    from head_measure(
        runs := (select list(id) from checkpoint), measure := $measure, relation := $relation
    ) as head_value
    inner join checkpoint on checkpoint.id = head_value.run
    where ($layer is null or head_value.layer = $layer)
        and ($head is null or head_value.head = $head)
        and ($direction is null or head_value.direction = $direction)
),

ranked_head as (
    select layer, head, direction, row_number() over (order by from_best, layer, head, direction) as place
    from checkpoint_value
    where step = (select max(step) from checkpoint)
        and value is not null
)

select
    concat(
        checkpoint_value.layer, '-', checkpoint_value.head,
        coalesce(' ' || replace(checkpoint_value.direction, '_', ' '), '')
    ) as name,
    checkpoint_value.layer, checkpoint_value.head, checkpoint_value.direction, checkpoint_value.step,
    checkpoint_value.tokens_seen, checkpoint_value.value, checkpoint_value.low, checkpoint_value.high,
    checkpoint_value.baseline, checkpoint_value.n,
    checkpoint_value.run_name as run
from checkpoint_value
inner join ranked_head
    on ranked_head.layer = checkpoint_value.layer
    and ranked_head.head = checkpoint_value.head
    and ranked_head.direction is not distinct from checkpoint_value.direction
where $top is null or ranked_head.place <= $top
order by ranked_head.place, checkpoint_value.step
