-- title: How often each head's most-attended word is the gold head, per relation and direction
-- paper: Clark et al. 2019, section 4.2
-- grain: one row per (relation, layer, head, direction)
-- formula: accuracy(r) = |{d ∈ D(r) : prediction(d) = head(d)}| / |D(r)|, where D(r) are the dependents of relation
--   r
-- formula: dependent_to_head: prediction(d) = argmax_{j ∈ W, j ≠ d} α(d, j), where W are the positions of words
-- formula: head_to_dependent: prediction(d) = argmax_{j ∈ W, j ≠ d} α(j, d)
-- run: unit=word needs=trees usual=sentence
-- note: dependent_to_head takes the word that the dependent attends to most; head_to_dependent the word that attends
--   to the dependent most. Special tokens and the word itself are left out, ties go to the leftmost.
-- note: the row all counts every word, punctuation too, and a root as always wrong (as the published code);
--   in the relations a root has no head to find and is left out.
-- param relation varchar = null: only this relation (or all); by default every one
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- column relation varchar: the relation, or all
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column direction varchar: dependent_to_head or head_to_dependent
-- column accuracy double: share of the dependents whose head is found, in [0, 1]
-- column correct bigint: dependents whose head is found
-- column n bigint: dependents
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

hit as (
    select
        gold.relation,
        gold.is_root,
        peak.layer,
        peak.head,
        count(*) as n,
        sum(case when peak.most_attended = gold.head_position then 1 else 0 end) as to_head,
        sum(case when peak.most_attending = gold.head_position then 1 else 0 end) as to_dependent
    from gold_dependency(run := $run, subtypes := $subtypes, possessive := $possessive) as gold
    inner join peak
        on peak.sequence = gold.sequence
        and peak.position = gold.position
    group by gold.relation, gold.is_root, peak.layer, peak.head
),

per_relation as (
    select hit.relation, hit.layer, hit.head, hit.n, hit.to_head, hit.to_dependent
    from hit
    where not hit.is_root
    union all
    select
        'all' as relation,
        hit.layer,
        hit.head,
        sum(hit.n) as n,
        sum(hit.to_head) as to_head,
        sum(hit.to_dependent) as to_dependent
    from hit
    group by hit.layer, hit.head
),

per_direction as (
    select
        per_relation.relation,
        per_relation.layer,
        per_relation.head,
        'dependent_to_head' as direction,
        cast(sum(per_relation.to_head) as bigint) as correct,
        cast(sum(per_relation.n) as bigint) as n
    from per_relation
    group by per_relation.relation, per_relation.layer, per_relation.head
    union all
    select
        per_relation.relation,
        per_relation.layer,
        per_relation.head,
        'head_to_dependent' as direction,
        cast(sum(per_relation.to_dependent) as bigint) as correct,
        cast(sum(per_relation.n) as bigint) as n
    from per_relation
    group by per_relation.relation, per_relation.layer, per_relation.head
)

select
    per_direction.relation,
    per_direction.layer,
    per_direction.head,
    per_direction.direction,
    cast(per_direction.correct as double) / cast(per_direction.n as double) as accuracy,
    per_direction.correct,
    per_direction.n,
    (select chosen_run.name from chosen_run) as run
from per_direction
where $relation is null or per_direction.relation = $relation
order by
    per_direction.relation,
    per_direction.layer,
    per_direction.head,
    per_direction.direction
