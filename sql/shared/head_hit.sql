-- title: How many gold heads each head finds, per relation and direction, on two parts of the dependents
-- grain: one row per (relation, part, layer, head, direction)
-- param run varchar = null: name or id of the run
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- param relation varchar = null: a saved relation, whose pairs are judged instead of the dependencies
-- param choose varchar = null {half, train}: the part that heads are chosen on. half: every second document, or every
--   second sentence if the corpus is one document; train: the documents whose split is train. Null for no parts.
-- column relation varchar: the relation, or all
-- column is_chosen_on boolean: whether the part is the one to choose heads on; false without parts
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column direction varchar: dependent_to_head or head_to_dependent
-- column correct bigint: dependents whose head is found
-- column n bigint: dependents
with

gold as (
    select
        dependency.sequence,
        dependency.position,
        dependency.head_position,
        dependency.relation,
        dependency.is_root,
        case
            when $choose is null then false
            when $choose = 'train' then coalesce(dependency.split, '') = 'train'
            when min(dependency.document) over () < max(dependency.document) over ()
                then dense_rank() over (order by dependency.document) % 2 = 1
            else dense_rank() over (order by dependency.sentence) % 2 = 1
        end as is_chosen_on
    from gold_dependency(
        run := $run, subtypes := $subtypes, possessive := $possessive, saved := as_saved($relation)
    ) as dependency
),

hit as (
    select
        gold.relation,
        gold.is_root,
        gold.is_chosen_on,
        peak.layer,
        peak.head,
        count(*) as n,
        sum(case when peak.most_attended = gold.head_position then 1 else 0 end) as to_head,
        sum(case when peak.most_attending = gold.head_position then 1 else 0 end) as to_dependent
    from gold
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
    group by gold.relation, gold.is_root, gold.is_chosen_on, peak.layer, peak.head
),

per_relation as (
    select hit.relation, hit.is_chosen_on, hit.layer, hit.head, hit.n, hit.to_head, hit.to_dependent
    from hit
    where not hit.is_root
    union all
    select
        'all' as relation,
        hit.is_chosen_on,
        hit.layer,
        hit.head,
        sum(hit.n) as n,
        sum(hit.to_head) as to_head,
        sum(hit.to_dependent) as to_dependent
    from hit
    group by hit.is_chosen_on, hit.layer, hit.head
)

select
    per_relation.relation,
    per_relation.is_chosen_on,
    per_relation.layer,
    per_relation.head,
    'dependent_to_head' as direction,
    cast(sum(per_relation.to_head) as bigint) as correct,
    cast(sum(per_relation.n) as bigint) as n
from per_relation
group by per_relation.relation, per_relation.is_chosen_on, per_relation.layer, per_relation.head
union all
select
    per_relation.relation,
    per_relation.is_chosen_on,
    per_relation.layer,
    per_relation.head,
    'head_to_dependent' as direction,
    cast(sum(per_relation.to_dependent) as bigint) as correct,
    cast(sum(per_relation.n) as bigint) as n
from per_relation
group by per_relation.relation, per_relation.is_chosen_on, per_relation.layer, per_relation.head
