-- title: How often the gold head stands at a fixed offset from its dependent, per relation
-- paper: Clark et al. 2019, section 4.2
-- grain: one row per (relation, offset)
-- formula: accuracy(r, k) = |{d ∈ D(r) : d + k = head(d)}| / |D(r)|, where D(r) are the dependents of relation r
-- run: unit=word needs=trees usual=sentence
-- plot: grid x=offset y=relation color=accuracy domain=0,1
-- note: offset 1 predicts the next word, -1 the one before. An offset that leaves the sentence is wrong.
-- note: the published code clamps it instead: past the last word it predicts that word, before the first one the
--   root. So it is right as well for heads that are the last word, and in the row all for a root among the first words.
--   clamped := true does the same.
-- note: the published code tries -3 to 2; table 1 of the paper has none beyond that.
-- note: offset is a word of SQL: write "offset", or qualify it.
-- param relation varchar = null: only this relation (or all); by default every one
-- param offsets integer[] = [-3, -2, -1, 1, 2, 3]: the offsets to try
-- param clamped boolean = false: take the last word, or the root, for a place outside the sentence (published code)
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- column relation varchar: the relation, or all
-- column offset integer: predicted head minus dependent, in positions: words, and multiword tokens read as written
-- column accuracy double: share of the dependents whose head is there, in [0, 1]
-- column correct bigint: dependents whose head is there
-- column n bigint: dependents
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

gold as (
    select
        dependency.sequence,
        dependency.sentence,
        dependency.relation,
        dependency.is_root,
        dependency.position,
        dependency.head_position
    from gold_dependency(
        run := $run, subtypes := $subtypes, possessive := $possessive, saved := as_saved($relation)
    ) as dependency
),

extent as (
    select
        position.sequence,
        word.sentence,
        min(position.position) as first_position,
        max(position.position) as last_position
    from (select distinct gold.sequence from gold) as judged
    inner join position on position.sequence = judged.sequence
    inner join word on word.id = position.word
    where position.kind = 'word'
    group by position.sequence, word.sentence
),

tried as (
    select distinct listed."offset"
    from (select unnest($offsets) as "offset") as listed
),

guessed as (
    select
        gold.relation,
        gold.is_root,
        gold.head_position,
        tried."offset",
        gold.position + tried."offset" < extent.first_position as is_before,
        case
            when $clamped then least(gold.position + tried."offset", extent.last_position)
            else gold.position + tried."offset"
        end as guess
    from gold
    inner join extent
        on extent.sequence = gold.sequence
        and extent.sentence = gold.sentence
    cross join tried
),

judged as (
    select
        guessed.relation,
        guessed.is_root,
        guessed."offset",
        case
            when $clamped and guessed.is_before then guessed.is_root
            else coalesce(guessed.guess = guessed.head_position, false)
        end as is_right
    from guessed
),

per_relation as (
    select judged.relation, judged."offset", judged.is_right
    from judged
    where not judged.is_root
    union all
    select 'all' as relation, judged."offset", judged.is_right
    from judged
),

scored as (
    select
        per_relation.relation,
        per_relation."offset",
        cast(sum(case when per_relation.is_right then 1 else 0 end) as bigint) as correct,
        count(*) as n
    from per_relation
    group by per_relation.relation, per_relation."offset"
)

select
    scored.relation,
    scored."offset",
    cast(scored.correct as double) / cast(scored.n as double) as accuracy,
    scored.correct,
    scored.n,
    (select chosen_run.name from chosen_run) as run
from scored
where $relation is null or scored.relation = $relation
order by scored.relation, scored."offset"
