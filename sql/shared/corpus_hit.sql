-- title: How many gold heads each head finds in each corpus, per relation and direction
-- grain: one row per (corpus, relation, layer, head, direction)
-- param run varchar = null: name or id of a run of the model
-- param corpora varchar[] = null: names of the corpora; null for all
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param is_control boolean = false: the runs of random weights instead
-- column corpus varchar: name of the corpus
-- column language varchar: its language; null where it is not known
-- column run varchar: name of the run over it
-- column relation varchar: the relation, or all
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column direction varchar: dependent_to_head or head_to_dependent
-- column correct bigint: dependents whose head is found
-- column n bigint: dependents
with

corpus_run as (
    select each.id, each.name, each.corpus, each.language
    from corpus_run(run := $run, corpora := $corpora, is_control := $is_control) as each
),

hit as (
    select
        gold.run,
        gold.relation,
        gold.is_root,
        peak.layer,
        peak.head,
        count(*) as n,
        sum(case when peak.most_attended = gold.head_position then 1 else 0 end) as to_head,
        sum(case when peak.most_attending = gold.head_position then 1 else 0 end) as to_dependent
    from gold_pair(runs := (select list(corpus_run.id) from corpus_run), subtypes := $subtypes) as gold
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
    group by gold.run, gold.relation, gold.is_root, peak.layer, peak.head
),

per_relation as (
    select hit.run, hit.relation, hit.layer, hit.head, hit.n, hit.to_head, hit.to_dependent
    from hit
    where not hit.is_root
    union all
    select
        hit.run,
        'all' as relation,
        hit.layer,
        hit.head,
        sum(hit.n) as n,
        sum(hit.to_head) as to_head,
        sum(hit.to_dependent) as to_dependent
    from hit
    group by hit.run, hit.layer, hit.head
),

per_direction as (
    select
        per_relation.run,
        per_relation.relation,
        per_relation.layer,
        per_relation.head,
        'dependent_to_head' as direction,
        per_relation.to_head as correct,
        per_relation.n
    from per_relation
    union all
    select
        per_relation.run,
        per_relation.relation,
        per_relation.layer,
        per_relation.head,
        'head_to_dependent' as direction,
        per_relation.to_dependent as correct,
        per_relation.n
    from per_relation
)

select
    corpus_run.corpus,
    corpus_run.language,
    corpus_run.name as run,
    per_direction.relation,
    per_direction.layer,
    per_direction.head,
    per_direction.direction,
    cast(per_direction.correct as bigint) as correct,
    cast(per_direction.n as bigint) as n
from per_direction
inner join corpus_run on corpus_run.id = per_direction.run
