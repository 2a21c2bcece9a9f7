-- title: The best head for each relation, chosen on one half of the documents and scored on the other
-- paper: beside Clark et al. 2019, section 4.2, which picks and scores on the same words
-- grain: one row per relation, the most frequent first
-- formula: (head, direction)*(r) = argmax_{h, v} accuracy_{h,v}(r) over the dependents that it is chosen on
-- formula: accuracy(r) = the accuracy of that head and direction over the dependents that it is scored on
-- formula: optimism(r) = max_{h, v} accuracy_{h,v}(r) − accuracy(r), both over the dependents that it is scored on
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is accuracy and z = 1.96
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=accuracy y=relation low=low high=high beside=in_sample_accuracy label=layer,head domain=0,1
-- empty: no relation has min_count dependents in either half (--min-count 1 shows them all)
-- note: halves are every second document, or every second sentence where the corpus is one document. With
--   choose := 'train' the head is chosen on the documents whose split is train and scored on all others.
-- note: optimism is what picking on the scored words themselves adds: in_sample_accuracy minus accuracy, never negative.
-- param relation varchar = null: only this relation (or all); by default every one
-- param min_count integer = 10: leave out relations with fewer dependents in either half
-- param choose varchar = 'half' {half, train}: where the head is chosen, on every second document or by split
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- column relation varchar: the relation, or all
-- column n bigint: dependents that the head is scored on
-- column layer smallint: 1-based layer of the head that was chosen
-- column head smallint: 1-based number of that head in its layer
-- column direction varchar: dependent_to_head or head_to_dependent
-- column accuracy double: share of the scored dependents whose head it finds, in [0, 1]
-- column low double: lower end of the 95 % Wilson interval of accuracy
-- column high double: upper end of the 95 % Wilson interval of accuracy
-- column chosen_n bigint: dependents that the head was chosen on
-- column chosen_accuracy double: its accuracy on those
-- column in_sample_accuracy double: the best accuracy of any head on the scored dependents, as the paper would report
-- column optimism double: in_sample_accuracy minus accuracy
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

ranked as (
    select
        hit.relation,
        hit.is_chosen_on,
        hit.layer,
        hit.head,
        hit.direction,
        hit.correct,
        hit.n,
        cast(hit.correct as double) / cast(hit.n as double) as accuracy,
        row_number() over (
            partition by hit.relation, hit.is_chosen_on
            order by hit.correct desc, hit.layer, hit.head, hit.direction
        ) as place
    from head_hit(
        run := $run, subtypes := $subtypes, possessive := $possessive, relation := $relation, choose := $choose
    ) as hit
    where hit.n >= $min_count
),

scored as (
    select
        chosen.relation,
        held_out.n,
        chosen.layer,
        chosen.head,
        chosen.direction,
        held_out.correct,
        held_out.accuracy,
        chosen.n as chosen_n,
        chosen.accuracy as chosen_accuracy,
        in_sample.accuracy as in_sample_accuracy
    from ranked as chosen
    inner join ranked as held_out
        on held_out.relation = chosen.relation
        and held_out.layer = chosen.layer
        and held_out.head = chosen.head
        and held_out.direction = chosen.direction
    inner join ranked as in_sample
        on in_sample.relation = chosen.relation
    where chosen.is_chosen_on
        and chosen.place = 1
        and not held_out.is_chosen_on
        and not in_sample.is_chosen_on
        and in_sample.place = 1
)

select
    scored.relation,
    scored.n,
    scored.layer,
    scored.head,
    scored.direction,
    scored.accuracy,
    wilson_low(scored.correct, scored.n) as low,
    wilson_high(scored.correct, scored.n) as high,
    scored.chosen_n,
    scored.chosen_accuracy,
    scored.in_sample_accuracy,
    scored.in_sample_accuracy - scored.accuracy as optimism,
    (select chosen_run.name from chosen_run) as run
from scored
where $relation is null or scored.relation = $relation
order by scored.n desc, scored.relation
