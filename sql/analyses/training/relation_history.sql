-- title: The best head for each relation at every checkpoint of a training, chosen on one half of the documents
-- paper: beside Clark et al. 2019, section 4.2; Chen et al. 2024 (Sudden drops in the loss)
-- grain: one row per (relation, step)
-- formula: (head, direction)*(r, s) = argmax_{h, v} accuracy_{h,v}(r) at step s over one half; accuracy(r, s) = its
--   accuracy over the other
-- formula: low, high as in best_head_held_out
-- run: unit=word needs=series usual=sentence
-- plot: lines x=step y=accuracy color=relation low=low high=high along=log
-- empty: no relation has min_count dependents in either half (--min-count 1 shows them all)
-- note: the runs are those of all checkpoints of the series of the run that answers which are like it (head_history).
-- note: halves are every second document of the corpus, or every second sentence where the source marks none or the run
--   reads one. Each step chooses for itself: same says how often it takes the head that the last step takes.
-- param relation varchar = null: only this relation (or all); by default the most frequent ones
-- param top integer = 5: how many relations, the most frequent first; null for all
-- param min_count integer = 10: leave out relations with fewer dependents in either half
-- param run, subtypes
-- column relation
-- column step bigint: step of the training
-- column tokens_seen bigint: tokens that the model had seen by then; null where that is not known
-- column n, layer, head, direction, accuracy, low, high
-- column chosen_accuracy double: its accuracy on the dependents that it was chosen on
-- column offset_accuracy double: share of the scored dependents' heads that the best fixed offset finds on all of them
-- column same boolean: whether the last step takes the same head and direction
-- column run varchar: name of the run of that checkpoint
with

checkpoint as materialized (
    select each.*
    from series_run(anchor := (select chosen_run.id from chosen_run)) as each
),

hit as materialized (
    select checkpoint.step, checkpoint.tokens_seen, checkpoint.name as run_name, each.*
    from held_out_hit(
        runs := (select list(checkpoint.id) from checkpoint), subtypes := $subtypes, possessive := false,
        saved := saved_relation_name($relation), choose := 'half', min_count := $min_count
    ) as each
    inner join checkpoint on checkpoint.id = each.run
    where $relation is null
        or each.relation = $relation
),

chosen as (
    select hit.*
    from hit
    where hit.is_chosen_on
    qualify row_number() over (
        partition by hit.step, hit.relation
        order by hit.correct desc, hit.layer, hit.head, hit.direction
    ) = 1
),

frequent as (
    select each.relation, row_number() over (order by each.n desc, each.relation) as place
    from (select hit.relation, max(hit.n) as n from hit group by hit.relation) as each
),

last_choice as (
    select chosen.relation, chosen.layer, chosen.head, chosen.direction
    from chosen
    where chosen.step = (select max(checkpoint.step) from checkpoint)
)

select
    chosen.relation,
    chosen.step,
    chosen.tokens_seen,
    scored.n,
    chosen.layer,
    chosen.head,
    chosen.direction,
    scored.accuracy,
    wilson_low(scored.accuracy * scored.effective, scored.effective) as low,
    wilson_high(scored.accuracy * scored.effective, scored.effective) as high,
    chosen.accuracy as chosen_accuracy,
    best.accuracy as offset_accuracy,
    coalesce(
        last_choice.layer = chosen.layer
        and last_choice.head = chosen.head
        and last_choice.direction = chosen.direction,
        false
    ) as same,
    chosen.run_name as run
from chosen
inner join hit as scored
    on scored.run = chosen.run
    and scored.relation = chosen.relation
    and not scored.is_chosen_on
    and scored.layer = chosen.layer
    and scored.head = chosen.head
    and scored.direction = chosen.direction
inner join frequent on frequent.relation = chosen.relation
left join last_choice on last_choice.relation = chosen.relation
left join best_offset(
    runs := (select list(checkpoint.id) from checkpoint), subtypes := $subtypes, possessive := false,
    saved := saved_relation_name($relation), offsets := [-3, -2, -1, 1, 2, 3], clamped := false
) as best
    on best.run = chosen.run
    and best.relation = chosen.relation
    and best.side = chosen.side
where $top is null or frequent.place <= $top
order by frequent.place, chosen.step
