-- title: The best head for each relation, chosen on one half of the documents and scored on the other
-- paper: beside Clark et al. 2019, section 4.2, which picks and scores on the same words
-- grain: one row per relation, the most frequent first
-- formula: (head, direction)*(r) = argmax_{h, v} accuracy_{h,v}(r) over the dependents that it is chosen on
-- formula: accuracy(r) = the accuracy of that head and direction over the dependents that it is scored on
-- formula: optimism(r) = max_{h, v} accuracy_{h,v}(r) − accuracy(r), both over the dependents that it is scored on
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is accuracy and z = 1.96
-- run: unit=word needs=trees usual=sentence
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

gold as (
    select
        dependency.sequence,
        dependency.position,
        dependency.head_position,
        dependency.relation,
        dependency.is_root,
        dependency.document,
        dependency.sentence,
        dependency.split
    from gold_dependency(run := $run, subtypes := $subtypes, possessive := $possessive) as dependency
),

numbered_document as (
    select each_document.document, row_number() over (order by each_document.document) as place
    from (select distinct gold.document from gold) as each_document
),

numbered_sentence as (
    select each_sentence.sentence, row_number() over (order by each_sentence.sentence) as place
    from (select distinct gold.sentence from gold) as each_sentence
),

extent as (
    select count(*) as documents
    from numbered_document
),

divided as (
    select
        gold.sequence,
        gold.position,
        gold.head_position,
        gold.relation,
        gold.is_root,
        case
            when $choose = 'train' then coalesce(gold.split, '') = 'train'
            when extent.documents > 1 then numbered_document.place % 2 = 1
            else numbered_sentence.place % 2 = 1
        end as is_chosen_on
    from gold
    inner join numbered_document on numbered_document.document = gold.document
    inner join numbered_sentence on numbered_sentence.sentence = gold.sentence
    cross join extent
),

hit as (
    select
        divided.relation,
        divided.is_root,
        divided.is_chosen_on,
        peak.layer,
        peak.head,
        count(*) as n,
        sum(case when peak.most_attended = divided.head_position then 1 else 0 end) as to_head,
        sum(case when peak.most_attending = divided.head_position then 1 else 0 end) as to_dependent
    from divided
    inner join peak
        on peak.sequence = divided.sequence
        and peak.position = divided.position
    group by divided.relation, divided.is_root, divided.is_chosen_on, peak.layer, peak.head
),

per_relation as (
    select hit.relation, hit.is_chosen_on, hit.layer, hit.head, hit.n, hit.to_head, hit.to_dependent
    from hit
    where not hit.is_root
    union all
    select 'all' as relation, hit.is_chosen_on, hit.layer, hit.head, hit.n, hit.to_head, hit.to_dependent
    from hit
),

per_direction as (
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
),

ranked as (
    select
        per_direction.relation,
        per_direction.is_chosen_on,
        per_direction.layer,
        per_direction.head,
        per_direction.direction,
        per_direction.correct,
        per_direction.n,
        cast(per_direction.correct as double) / cast(per_direction.n as double) as accuracy,
        row_number() over (
            partition by per_direction.relation, per_direction.is_chosen_on
            order by per_direction.correct desc, per_direction.layer, per_direction.head, per_direction.direction
        ) as place
    from per_direction
    where per_direction.n >= $min_count
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
