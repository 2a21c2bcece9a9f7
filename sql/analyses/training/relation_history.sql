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
-- note: halves are every second document, or every second sentence if the source marks no documents or the run has only
--   one. The head is chosen at each step: same says whether it is that of the last step.
-- param relation varchar = null: only this relation (or all); by default the most frequent ones
-- param top integer = 5: number of relations, the most frequent first; null for all
-- param min_count integer = 10: leave out relations with fewer dependents in either half
-- param run, subtypes
-- column relation, step, tokens_seen, n, layer, head, direction, accuracy, low, high
-- column chosen_accuracy double: its accuracy on the dependents that it was chosen on
-- column offset_accuracy double: share of the scored dependents' heads that the best fixed offset finds on all of them
-- column same boolean: whether the last step takes the same head and direction
-- column run varchar: name of the run of that checkpoint
with checkpoint as materialized (
    select matching_run.*
    from series_run(anchor := (select id from chosen_run)) as matching_run
),

hit as materialized (
    select checkpoint.step, checkpoint.tokens_seen, checkpoint.name as run_name, part_hit.*
    from held_out_hit(
        runs := (select list(id) from checkpoint), subtypes := $subtypes, saved := saved_relation_name($relation),
        min_count := $min_count
    ) as part_hit
    inner join checkpoint on checkpoint.id = part_hit.run
    where $relation is null
        or part_hit.relation = $relation
),

selected_head as (
    select hit.*
    from hit
    where is_chosen_on
    qualify row_number() over (partition by step, relation order by correct desc, layer, head, direction) = 1
),

-- By the step with the most dependents, so that all steps show the same relations.
ranked_relation as (
    select relation, row_number() over (order by n desc, relation) as place
    from (select relation, max(n) as n from hit group by all) as relation_size
),

last_selected_head as (
    select relation, layer, head, direction
    from selected_head
    where step = (select max(step) from checkpoint)
)

select
    selected_head.relation, selected_head.step, selected_head.tokens_seen, scored.n, selected_head.layer,
    selected_head.head, selected_head.direction, scored.accuracy,
    wilson_low(scored.accuracy * scored.effective, scored.effective) as low,
    wilson_high(scored.accuracy * scored.effective, scored.effective) as high,
    selected_head.accuracy as chosen_accuracy,
    best.accuracy as offset_accuracy,
    coalesce(
        last_selected_head.layer = selected_head.layer
        and last_selected_head.head = selected_head.head
        and last_selected_head.direction = selected_head.direction,
        false
    ) as same,
    selected_head.run_name as run
from selected_head
inner join hit as scored using (run, relation, layer, head, direction, side)
inner join ranked_relation using (relation)
left join last_selected_head using (relation)
left join best_offset(
    runs := (select list(id) from checkpoint), subtypes := $subtypes, saved := saved_relation_name($relation)
) as best using (run, relation, side)
where not scored.is_chosen_on
    and ($top is null or ranked_relation.place <= $top)
order by ranked_relation.place, selected_head.step
