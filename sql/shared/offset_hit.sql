-- title: How often the gold head is at a fixed offset from its dependent in some runs, per relation
-- grain: one row per (run, relation, offset, side)
-- note: offset_baseline says what is scored, and why; it is this over one run.
-- param runs, subtypes, possessive, saved, offsets, clamped
-- param choose varchar = null {half, train}: only dependents that heads are chosen on (see pair_hit); null for all
-- column run integer: run.id of the run
-- column relation
-- column offset integer: predicted head minus dependent, in positions
-- column accuracy, correct, n, findable, overall, side
with gold as (
    select dependency.*, unnest(relations_of(relation, is_root)) as counted_relation
    from gold_pair(runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved) as dependency
    where $choose is null
        or is_selection_part($choose, split, cluster)
),

-- Each offset on the side of a dependent, and from the later of two words to the earlier.
sided_dependent as (
    select gold.*, candidate_offset."offset", case when way.is_either then 'either' else gold.side end as scored_side
    from gold
    cross join (select distinct "offset" from (select unnest($offsets) as "offset") as item) as candidate_offset
    cross join (select unnest([false, true]) as is_either) as way
    where not way.is_either or gold.side <> 'both'
),

prediction as (
    select
        sided_dependent.run, sided_dependent.counted_relation, sided_dependent.scored_side, sided_dependent."offset",
        is_offset_hit(
            sided_dependent."offset", sided_dependent.scored_side, sided_dependent.position,
            sided_dependent.head_position, sided_dependent.is_root, $clamped,
            extent.first_position, extent.last_position
        ) as is_right
    from sided_dependent
    inner join sentence_extent(runs := $runs) as extent using (sequence, sentence)
    where offset_applies_to_side(sided_dependent."offset", sided_dependent.scored_side)
),

-- Every dependent, scored or not.
relation_size as (
    select run, counted_relation, count(*) as n
    from gold
    group by all
)

select
    prediction.run,
    prediction.counted_relation as relation,
    prediction."offset",
    ratio(count(*) filter (where prediction.is_right), count(*)) as accuracy,
    count(*) filter (where prediction.is_right) as correct,
    count(*) as n,
    ratio(count(*), relation_size.n) as findable,
    ratio(count(*) filter (where prediction.is_right), relation_size.n) as overall,
    prediction.scored_side as side
from prediction
inner join relation_size using (run, counted_relation)
group by prediction.run, prediction.counted_relation, prediction."offset", prediction.scored_side, relation_size.n
