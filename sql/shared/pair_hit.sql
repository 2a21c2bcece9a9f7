-- title: How many gold heads each head finds in some runs, per relation and direction, on two parts of the dependents
-- grain: one row per (run, relation, part, layer, head, direction)
-- param runs, subtypes, possessive, saved
-- param choose varchar = null {half, train}: the part that heads are chosen on. half: every second document, or every
--   second sentence if the source marks no documents or the run has only one; train: documents whose split is train.
--   Null for no parts.
-- param by_documents boolean = false: whether documents are counted apart, which effective needs
-- column run integer: run.id of the run
-- column relation
-- column is_chosen_on boolean: whether the part is the one to choose heads on; false without parts
-- column layer, head, direction, side, correct, n, accuracy, overall
-- column effective double: effective number of independent dependents, by documents; null unless by_documents
-- column findable
with gold as (
    select dependency.*, $choose is not null and is_selection_part($choose, split, cluster) as is_chosen_on
    from gold_pair(runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved) as dependency
),

-- Every dependent, scored or not.
relation_size as (
    select run, counted_relation, is_chosen_on, count(*) as n
    from (
        select gold.*, unnest(relations_of(relation, is_root)) as counted_relation from gold
    ) as counted_dependent
    group by all
),

hit as (
    select
        gold.run, gold.relation, gold.is_root, gold.is_chosen_on,
        case when $by_documents then gold.cluster end as document_group,
        gold.side, peak.layer, peak.head,
        count(*) as n,
        sum(case when peak.most_attended = gold.head_position then 1 else 0 end) as to_head,
        sum(case when peak.most_attending = gold.head_position then 1 else 0 end) as to_dependent
    from gold
    inner join peak using (sequence, position)
    where gold.side is not null
    group by all
),

per_direction as (
    select
        relation_hit.run, relation_hit.counted_relation, relation_hit.is_chosen_on, relation_hit.document_group,
        relation_hit.layer, relation_hit.head, scored_direction.direction,
        judged_side(scored_direction.direction, relation_hit.side) as side,
        sum(
            in_direction(scored_direction.direction, relation_hit.side, relation_hit.to_head, relation_hit.to_dependent)
        ) as correct,
        sum(relation_hit.n) as n
    from (select hit.*, unnest(relations_of(relation, is_root)) as counted_relation from hit) as relation_hit
    inner join (select unnest(directions()) as direction) as scored_direction
        on applies_to_side(scored_direction.direction, relation_hit.side)
    group by all
)

select
    per_direction.run,
    per_direction.counted_relation as relation,
    per_direction.is_chosen_on, per_direction.layer, per_direction.head, per_direction.direction, per_direction.side,
    cast(sum(per_direction.correct) as bigint) as correct,
    cast(sum(per_direction.n) as bigint) as n,
    ratio(sum(per_direction.correct), sum(per_direction.n)) as accuracy,
    ratio(sum(per_direction.correct), min(relation_size.n)) as overall,
    clustered_n(per_direction.correct, per_direction.n) as effective,
    ratio(sum(per_direction.n), min(relation_size.n)) as findable
from per_direction
inner join relation_size using (run, counted_relation, is_chosen_on)
group by all
