-- title: The best head for each relation, chosen on one half of the documents and scored on the other
-- paper: beside Clark et al. 2019, section 4.2, which picks and scores on the same words
-- grain: one row per relation, the most frequent first
-- formula: (head, direction)*(r) = argmax_{h, v} accuracy_{h,v}(r) over the dependents that it is chosen on
-- formula: accuracy(r) = the accuracy of that head and direction over the dependents that it is scored on
-- formula: optimism(r) = max_{h, v} accuracy_{h,v}(r) − accuracy(r), both over the dependents that it is scored on
-- formula: low, high as in best_head
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=accuracy y=relation low=low high=high beside=in_sample_accuracy label=layer,head aside=n domain=0,1
-- empty: no relation has min_count dependents in either half (--min-count 1 shows them all)
-- note: halves are every second document of the corpus, or every second sentence where the source marks none or the run
--   reads one. With choose := 'train' the head is chosen on the documents whose split is train and scored on all
--   others.
-- note: optimism is what picking on the scored words themselves adds: in_sample_accuracy minus accuracy, never
--   negative.
-- note: of a causal model the head is judged on the dependents that its direction can find (see gold_dependency), and
--   in_sample_accuracy is the best of that direction. Equal heads are decided as in best_head; a direction needs
--   min_count dependents in both halves together.
-- param relation
-- param min_count integer = 10: leave out relations with fewer dependents in either half
-- param choose varchar = 'half' {half, train}: where the head is chosen, on every second document or by split
-- param run, subtypes, possessive
-- column relation, n, layer, head, direction, accuracy, low, high
-- column chosen_n bigint: dependents that the head was chosen on
-- column chosen_accuracy double: its accuracy on those
-- column in_sample_accuracy double: the best accuracy of any head on the scored dependents, as the paper would report
-- column optimism, findable, overall, run
with

ranked as (
    select
        hit.*,
        row_number() over (
            partition by hit.relation, hit.is_chosen_on
            order by hit.correct desc, hit.layer, hit.head, hit.direction
        ) as place,
        row_number() over (
            partition by hit.relation, hit.is_chosen_on, hit.side
            order by hit.correct desc, hit.layer, hit.head, hit.direction
        ) as place_on_side
    from held_out_hit(
        runs := (select list(chosen_run.id) from chosen_run), subtypes := $subtypes, possessive := $possessive,
        saved := as_saved($relation), choose := $choose, min_count := $min_count
    ) as hit
    where $relation is null
        or hit.relation = $relation
)

select
    chosen.relation,
    scored.n,
    chosen.layer,
    chosen.head,
    chosen.direction,
    scored.accuracy,
    wilson_low(scored.accuracy * scored.effective, scored.effective) as low,
    wilson_high(scored.accuracy * scored.effective, scored.effective) as high,
    chosen.n as chosen_n,
    chosen.accuracy as chosen_accuracy,
    in_sample.accuracy as in_sample_accuracy,
    in_sample.accuracy - scored.accuracy as optimism,
    scored.findable,
    scored.overall,
    (select chosen_run.name from chosen_run) as run
from ranked as chosen
inner join ranked as scored
    on scored.relation = chosen.relation
    and scored.layer = chosen.layer
    and scored.head = chosen.head
    and scored.direction = chosen.direction
inner join ranked as in_sample
    on in_sample.relation = chosen.relation
    and in_sample.side = chosen.side
where chosen.is_chosen_on
    and chosen.place = 1
    and not scored.is_chosen_on
    and not in_sample.is_chosen_on
    and in_sample.place_on_side = 1
order by scored.n desc, chosen.relation
