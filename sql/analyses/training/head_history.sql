-- title: One figure of each head at every checkpoint of a training
-- paper: Olsson et al. 2022 (In-context learning and induction heads); Chen et al. 2024 (Sudden drops in the loss)
-- grain: one row per (head and direction, step)
-- formula: value = accuracy of head_accuracy; uuas of tree_accuracy; weight of previous_token_head,
--   duplicate_token_head or induction_head; or entropy, each over the run of the checkpoint of that step
-- run: needs=series
-- weights: $measure in ('duplicate_token', 'induction')
-- plot: lines x=step y=value color=name low=low high=high rule=baseline along=log
-- empty: the run has no such figure (accuracy needs trees and a run of words, uuas: attnbank compute attention_tree)
-- note: the runs are those of all checkpoints of the series of the run that answers which are like it: attnbank
--   ingest CORPUS --model FOLDER --series 'step*'.
-- note: by default the five heads (and directions) with the largest value at the last step; of entropy the
--   smallest. layer, head and direction name others, and top := null takes all.
-- note: induction heads are seen on random tokens that come twice: attnbank ingest --repeat 30 --series 'step*',
--   and name a run over these.
-- param measure varchar = 'accuracy' {accuracy, uuas, previous_token, duplicate_token, induction, entropy}: which
--   figure
-- param relation varchar = null: of accuracy the relation; by default all dependents
-- param layer smallint = null: only this layer
-- param head smallint = null: only this head of each layer
-- param direction varchar = null {dependent_to_head, head_to_dependent, both, later_to_earlier}: of accuracy and
--   uuas, only this direction
-- param top integer = 5: how many heads, the first at the last step; null for all
-- param run
-- column name varchar: the head as 3-1, with its direction
-- column layer, head
-- column direction varchar: of accuracy and uuas the direction that is judged; else null
-- column step bigint: step of the training
-- column tokens_seen bigint: tokens that the model had seen by then; null where that is not known
-- column value double: accuracy, uuas of the decoded trees, mean weight, or entropy in nats
-- column low double: lower end of its 95 % interval, by documents; null where all are in one
-- column high double: upper end of its 95 % interval
-- column baseline double: of accuracy that of the best fixed offset, of uuas that of adjacent words; else what even
--   attention gives
-- column n bigint: dependents, positions, or inputs that it is over
-- column run varchar: name of the run of that checkpoint
with

checkpoint as materialized (
    select each.*
    from series_run(anchor := (select chosen_run.id from chosen_run)) as each
),

measured as (
    select
        checkpoint.step,
        checkpoint.tokens_seen,
        checkpoint.name as run_name,
        found.*,
        case when $measure = 'entropy' then found.value else -found.value end as from_best
    from head_measure(
        runs := (select list(checkpoint.id) from checkpoint), measure := $measure, relation := $relation
    ) as found
    inner join checkpoint on checkpoint.id = found.run
    where ($layer is null or found.layer = $layer)
        and ($head is null or found.head = $head)
        and ($direction is null or found.direction = $direction)
),

ranked as (
    select
        measured.layer,
        measured.head,
        measured.direction,
        row_number() over (
            order by measured.from_best, measured.layer, measured.head, measured.direction
        ) as place
    from measured
    where measured.step = (select max(checkpoint.step) from checkpoint)
        and measured.value is not null
)

select
    case
        when measured.direction is null then concat(measured.layer, '-', measured.head)
        else concat(measured.layer, '-', measured.head, ' ', replace(measured.direction, '_', ' '))
    end as name,
    measured.layer,
    measured.head,
    measured.direction,
    measured.step,
    measured.tokens_seen,
    measured.value,
    measured.low,
    measured.high,
    measured.baseline,
    measured.n,
    measured.run_name as run
from measured
inner join ranked
    on ranked.layer = measured.layer
    and ranked.head = measured.head
    and ranked.direction is not distinct from measured.direction
where $top is null or ranked.place <= $top
order by ranked.place, measured.step
