-- title: How often each head's most-attended word is the gold head, per relation and direction
-- paper: Clark et al. 2019, section 4.2
-- grain: one row per (relation, layer, head, direction)
-- formula: accuracy(r) = |{d ∈ D(r) : prediction(d) = head(d)}| / |D(r)|, where D(r) are the dependents of relation
--   r
-- formula: dependent_to_head: prediction(d) = argmax_{j ∈ W, j ≠ d} α(d, j), where W are the positions of words
-- formula: head_to_dependent: prediction(d) = argmax_{j ∈ W, j ≠ d} α(j, d)
-- run: unit=word needs=trees usual=sentence
-- plot: grid color=accuracy panel=relation,direction domain=0,1
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
)

select
    hit.relation,
    hit.layer,
    hit.head,
    hit.direction,
    cast(hit.correct as double) / cast(hit.n as double) as accuracy,
    hit.correct,
    hit.n,
    (select chosen_run.name from chosen_run) as run
from head_hit(
    run := $run, subtypes := $subtypes, possessive := $possessive, relation := $relation
) as hit
where $relation is null or hit.relation = $relation
order by
    hit.relation,
    hit.layer,
    hit.head,
    hit.direction
