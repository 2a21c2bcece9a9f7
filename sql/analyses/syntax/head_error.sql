-- title: What a head finds instead of the gold head, where it is wrong
-- paper: beside Clark et al. 2019, section 4.2, which found in this way that possessors attend to the possessive 's
-- grain: one row per value of each breakdown, the most frequent first
-- formula: share = |{d : prediction(d) ≠ head(d), property(prediction(d)) = value}| / |{d : prediction(d) ≠ head(d)}|
-- formula: prediction(d) is that of head_accuracy, over the dependents of the relation that have a head
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=share y=value panel=breakdown
-- empty: no dependent has the relation, or the head finds all of them
-- note: breakdown relation: the relation of the word that is found to its own head; upos: its part of speech (where the
--   text has none, its tag in the treebank's own set); distance: its position minus that of the dependent.
-- note: where several words share the position that is found (a multiword token read as written), their relations and
--   parts of speech are joined: ADP+DET.
-- note: each breakdown counts every error once, so that its shares sum to 1. A head that attends to no other word finds
--   none, value none (the first word of a decoder).
-- note: by default the head, and the direction, that are best for the relation.
-- param head varchar = null: layer and head, as 3-1; by default the best for the relation
-- param relation varchar = null: only dependents of this relation; by default all that have a head
-- param direction varchar = null {dependent_to_head, head_to_dependent}: whose attention it is; by default that in
--   which the head is better
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column direction varchar: dependent_to_head or head_to_dependent
-- column breakdown varchar: relation, upos or distance
-- column value varchar: what the word that is found has there; none where no word is found
-- column n bigint: errors with that value
-- column share double: their share of the errors, in [0, 1]
-- column errors bigint: dependents whose head it does not find
-- column dependents bigint: dependents
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

asked_head as (
    select scored.layer, scored.head, scored.direction
    from head_hit(
        run := $run, subtypes := $subtypes, possessive := $possessive, relation := $relation
    ) as scored
    where scored.relation = coalesce($relation, 'all')
        and ($head is null or concat(scored.layer, '-', scored.head) = $head)
        and ($direction is null or scored.direction = $direction)
    qualify row_number() over (order by scored.correct desc, scored.layer, scored.head, scored.direction) = 1
),

known_head as (
    select chosen_run.id
    from chosen_run
    inner join run on run.id = chosen_run.id
    inner join model on model.id = run.model
    where refuse_unless(
        $head is null
        or (
            regexp_matches($head, '^[0-9]{1,4}-[0-9]{1,4}$')
            and cast(regexp_extract($head, '^[0-9]+') as integer) between 1 and model.layers
            and cast(regexp_extract($head, '[0-9]+$') as integer) between 1 and model.heads
        ),
        concat(
            'There is no head ',
            $head,
            ' in ',
            chosen_run.name,
            '. Its heads are 1-1 to ',
            model.layers,
            '-',
            model.heads,
            '.'
        )
    )
),

judged as (
    select
        asked_head.layer,
        asked_head.head,
        asked_head.direction,
        gold.sequence,
        gold.position,
        gold.head_position,
        case
            when asked_head.direction = 'dependent_to_head' then peak.most_attended
            else peak.most_attending
        end as found_position
    from gold_dependency(
        run := $run, subtypes := $subtypes, possessive := $possessive, saved := as_saved($relation)
    ) as gold
    cross join asked_head
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
        and peak.layer = asked_head.layer
        and peak.head = asked_head.head
    where not gold.is_root
        and ($relation is null or $relation = 'all' or gold.relation = $relation)
        and exists (select 1 from known_head)
),

found as (
    select
        wanted.sequence,
        wanted.position,
        string_agg(
            case when $subtypes then word.deprel else without_subtype(word.deprel) end, '+' order by word.id
        ) as relation,
        string_agg(coalesce(word.upos, word.xpos), '+' order by word.id) as upos
    from (select distinct judged.sequence, judged.found_position as position from judged) as wanted
    inner join word_position
        on word_position.sequence = wanted.sequence
        and word_position.position = wanted.position
    inner join word on word.id = word_position.word
    group by wanted.sequence, wanted.position
),

error as (
    select
        judged.layer,
        judged.head,
        judged.direction,
        judged.position,
        judged.found_position,
        found.relation,
        found.upos
    from judged
    left join found
        on found.sequence = judged.sequence
        and found.position = judged.found_position
    where judged.found_position is null
        or judged.head_position is null
        or judged.found_position <> judged.head_position
),

extent as (
    select
        count(*) as dependents,
        (select count(*) from error) as errors
    from judged
),

described as (
    select error.layer, error.head, error.direction, 'relation' as breakdown, 1 as place, error.relation as value
    from error
    union all
    select error.layer, error.head, error.direction, 'upos' as breakdown, 2 as place, error.upos as value
    from error
    union all
    select
        error.layer,
        error.head,
        error.direction,
        'distance' as breakdown,
        3 as place,
        cast(cast(error.found_position as integer) - error.position as varchar) as value
    from error
),

counted as (
    select
        described.layer,
        described.head,
        described.direction,
        described.breakdown,
        described.place,
        coalesce(described.value, 'none') as value,
        count(*) as n
    from described
    group by
        described.layer,
        described.head,
        described.direction,
        described.breakdown,
        described.place,
        coalesce(described.value, 'none')
)

select
    counted.layer,
    counted.head,
    counted.direction,
    counted.breakdown,
    counted.value,
    counted.n,
    cast(counted.n as double) / cast(extent.errors as double) as share,
    extent.errors,
    extent.dependents,
    (select chosen_run.name from chosen_run) as run
from counted
cross join extent
order by counted.place, counted.n desc, counted.value
