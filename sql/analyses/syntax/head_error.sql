-- title: What a head finds instead of the gold head, where it is wrong
-- paper: beside Clark et al. 2019, section 4.2, which found in this way that possessors attend to the possessive 's
-- grain: one row per value of each breakdown, the most frequent first
-- formula: share = |{d : prediction(d) ≠ head(d), property(prediction(d)) = value}| / |{d : prediction(d) ≠ head(d)}|
-- formula: prediction(d) is that of head_accuracy, over the dependents of the relation that have a head
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=share y=value panel=breakdown aside=n
-- empty: no dependent has the relation, or the head finds all of them
-- note: breakdown relation: the relation of the word that is found to its own head; upos: its part of speech (where the
--   text has none, its tag in the treebank's own set); distance: its position minus that of the dependent.
-- note: where several words share the position that is found (a multiword token read as written), their relations and
--   parts of speech are joined: ADP+DET.
-- note: each breakdown counts every error once, so that its shares sum to 1. A head that attends to no other word finds
--   none, value none (the first word of a decoder).
-- note: by default the head, and the direction, that are best for the relation.
-- note: of a causal model the dependents are those that the direction can find (see gold_dependency).
-- param head varchar = null: layer and head, as 3-1; by default the best for the relation
-- param relation varchar = null: only dependents of this relation; by default all that have a head
-- param direction varchar = null {dependent_to_head, head_to_dependent, later_to_earlier}: whose attention it is,
--   the last only of a causal model; by default that in which the head is better
-- param run, subtypes, possessive
-- column layer, head, direction
-- column breakdown varchar: relation, upos or distance
-- column value varchar: what the word that is found has there; none where no word is found
-- column n bigint: errors with that value
-- column share double: their share of the errors, in [0, 1]
-- column errors bigint: dependents whose head it does not find
-- column dependents bigint: dependents that the direction is judged on
-- column findable, run
with

asked_head as (
    select hit.layer, hit.head, hit.direction
    from pair_hit(
        runs := (select list(chosen_run.id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation)
    ) as hit
    where hit.relation = coalesce($relation, 'all')
        and ($head is null or concat(hit.layer, '-', hit.head) = $head)
        and ($direction is null or hit.direction = $direction)
    qualify row_number() over (order by hit.correct desc, hit.layer, hit.head, hit.direction) = 1
),

known_head as (
    select chosen_run.id
    from chosen_run
    inner join model on model.id = chosen_run.model
    inner join run on run.id = chosen_run.id
    where require(
        $head is null
        or $head in (
            select head.name
            from head
            inner join chosen_run as asked on asked.model = head.model
            inner join run as asked_run on asked_run.id = asked.id
            where head.head <= coalesce(asked_run.heads, head.head)
        ),
        concat(
            'There is no head ', $head, ' in ', chosen_run.name, '. Its heads are ',
            coalesce(list_min(model.layer_numbers), 1), '-1 to ',
            coalesce(list_max(model.layer_numbers), model.layers), '-', coalesce(run.heads, model.heads), '.'
        )
    )
),

found as (
    select word.is_right, word.relation, word.upos, word.distance
    from found_word(
        run := $run, relation := $relation, subtypes := $subtypes, possessive := $possessive,
        layer := (select asked_head.layer from asked_head), head := (select asked_head.head from asked_head),
        direction := (select asked_head.direction from asked_head)
    ) as word
    where exists (select 1 from known_head)
),

extent as (
    select
        count(*) as dependents,
        count(*) filter (where not found.is_right) as errors,
        (
            select count(*)
            from gold_dependency(
                run := $run, subtypes := $subtypes, possessive := $possessive, saved := saved_relation_name($relation)
            ) as gold
            where not gold.is_root
                and ($relation is null or $relation = 'all' or gold.relation = $relation)
        ) as every
    from found
),

described as (
    select
        unnest([
            {'place': 1, 'breakdown': 'relation', 'value': found.relation},
            {'place': 2, 'breakdown': 'upos', 'value': found.upos},
            {'place': 3, 'breakdown': 'distance', 'value': cast(found.distance as varchar)}
        ]) as error
    from found
    where not found.is_right
),

counted as (
    select
        described.error.place as place,
        described.error.breakdown as breakdown,
        coalesce(described.error.value, 'none') as value,
        count(*) as n
    from described
    group by described.error.place, described.error.breakdown, coalesce(described.error.value, 'none')
)

select
    asked_head.layer,
    asked_head.head,
    asked_head.direction,
    counted.breakdown,
    counted.value,
    counted.n,
    ratio(counted.n, extent.errors) as share,
    extent.errors,
    extent.dependents,
    ratio(extent.dependents, extent.every) as findable,
    (select chosen_run.name from chosen_run) as run
from counted
cross join extent
cross join asked_head
order by counted.place, counted.n desc, counted.value
