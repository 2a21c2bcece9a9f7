-- title: The best fixed offset of each relation in each corpus
-- grain: one row per (corpus, relation)
-- param run varchar = null: name or id of a run of the model
-- param corpora varchar[] = null: names of the corpora; null for all
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param offsets integer[] = [-3, -2, -1, 1, 2, 3]: offsets that are tried
-- column corpus varchar: name of the corpus
-- column relation varchar: the relation, or all
-- column offset integer: the best fixed offset (the nearest, then the left one, of equals)
-- column accuracy double: share of the dependents whose head is there, in [0, 1]
with

corpus_run as (
    select each.id, each.corpus
    from corpus_run(run := $run, corpora := $corpora) as each
),

tried as (
    select distinct listed."offset"
    from (select unnest($offsets) as "offset") as listed
),

hit as (
    select
        gold.run,
        gold.relation,
        gold.is_root,
        tried."offset",
        count(*) as n,
        sum(case when gold.head_position = gold.position + tried."offset" then 1 else 0 end) as correct
    from gold_pair(runs := (select list(corpus_run.id) from corpus_run), subtypes := $subtypes) as gold
    cross join tried
    group by gold.run, gold.relation, gold.is_root, tried."offset"
),

per_relation as (
    select hit.run, hit.relation, hit."offset", hit.n, hit.correct
    from hit
    where not hit.is_root
    union all
    select hit.run, 'all' as relation, hit."offset", hit.n, hit.correct
    from hit
),

scored as (
    select
        per_relation.run,
        per_relation.relation,
        per_relation."offset",
        sum(per_relation.n) as n,
        sum(per_relation.correct) as correct
    from per_relation
    group by per_relation.run, per_relation.relation, per_relation."offset"
)

select
    corpus_run.corpus,
    scored.relation,
    scored."offset",
    cast(scored.correct as double) / cast(scored.n as double) as accuracy
from scored
inner join corpus_run on corpus_run.id = scored.run
qualify row_number() over (
    partition by corpus_run.corpus, scored.relation
    order by scored.correct desc, abs(scored."offset"), scored."offset"
) = 1
