-- title: What a head finds instead of the gold head
-- paper: beside Clark et al. 2019, section 4.2, which found in this way that possessors attend to the possessive 's
-- grain: one row per value of each breakdown, the most frequent first
-- formula: share = |{d : prediction(d) ≠ head(d), property(prediction(d)) = value}| / |{d : prediction(d) ≠ head(d)}|
-- formula: prediction(d) is that of head_accuracy, over the dependents of the relation that have a head
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=share y=value panel=breakdown aside=n
-- caption value:
-- caption share: Share of the errors
-- empty: no dependent has the relation, or the head finds all of them
-- note: breakdown relation: the relation of the predicted word to its own head; upos: its part of speech (where the
--   text has none, its tag in the treebank's own set); distance: its position minus that of the dependent.
-- note: if several words share the predicted position (a multiword token read as written), their relations and parts of
--   speech are joined: ADP+DET.
-- note: each breakdown counts every error once, so that its shares sum to 1. A head that attends to no other word
--   predicts none, value none (the first word of a decoder).
-- note: of a causal model the dependents are those that the direction can find (see gold_dependency).
-- param head varchar = null: layer and head, as 3-1; by default the best for the relation
-- param relation varchar = null: only dependents of this relation; by default all that have a head
-- param direction varchar = null {dependent_to_head, head_to_dependent, later_to_earlier}: whose attention it is, the
--   last only of a causal model; by default that in which the head is better
-- param run, subtypes, possessive
-- column layer, head, direction
-- column breakdown varchar: relation, upos or distance
-- column value varchar: that property of the predicted word; none if no word is predicted
-- column n bigint: errors with that value
-- column share double: their share of the errors, in [0, 1]
-- column errors bigint: dependents whose head it does not find
-- column dependents bigint: dependents that the direction is scored on
-- column findable, run

-- The best of the heads and directions that the parameters allow.
with selected_head as (
    select layer, head, direction
    from pair_hit(
        runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation)
    ) as hit
    where relation = coalesce($relation, 'all')
        and ($head is null or concat(layer, '-', head) = $head)
        and ($direction is null or direction = $direction)
    qualify row_number() over (order by correct desc, layer, head, direction) = 1
),

checked_run as (
    select chosen_run.id
    from chosen_run
    inner join model on model.id = chosen_run.model
    inner join run on run.id = chosen_run.id
    where require(
        $head is null
        or $head in (
            select head.name
            from head
            inner join chosen_run using (model)
            inner join run on run.id = chosen_run.id
            where head.head <= coalesce(run.heads, head.head)
        ),
        concat(
            'There is no head ', $head, ' in ', chosen_run.name, '. Its heads are ',
            coalesce(list_min(model.layer_numbers), 1), '-1 to ',
            coalesce(list_max(model.layer_numbers), model.layers), '-', coalesce(run.heads, model.heads), '.'
        )
    )
),

prediction as (
    select is_right, relation, upos, distance
    from predicted_word(
        run := $run, relation := $relation, subtypes := $subtypes, possessive := $possessive,
        layer := (select layer from selected_head), head := (select head from selected_head),
        direction := (select direction from selected_head)
    ) as word
    where exists (select 1 from checked_run)
),

-- gold_dependents are all that have a head, those that the direction cannot find too.
total as (
    select
        count(*) as dependents,
        count(*) filter (where not is_right) as errors,
        (
            select count(*)
            from gold_dependency(
                run := $run, subtypes := $subtypes, possessive := $possessive, saved := saved_relation_name($relation)
            ) as gold
            where not is_root
                and ($relation is null or $relation = 'all' or relation = $relation)
        ) as gold_dependents
    from prediction
),

error_count as (
    select
        property.place as place,
        property.breakdown as breakdown,
        coalesce(property.value, 'none') as value,
        count(*) as n
    from (
        select unnest(word_properties(relation, upos, distance)) as property
        from prediction
        where not is_right
    ) as error
    group by all
)

select
    selected_head.layer, selected_head.head, selected_head.direction, error_count.breakdown, error_count.value,
    error_count.n,
    ratio(error_count.n, total.errors) as share,
    total.errors, total.dependents,
    ratio(total.dependents, total.gold_dependents) as findable,
    (select name from chosen_run) as run
from error_count
cross join total
cross join selected_head
order by error_count.place, error_count.n desc, error_count.value
