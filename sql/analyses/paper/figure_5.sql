-- title: Figure 5 from the bank: the best heads for relations, each on a sentence that has the relation
-- paper: Clark et al. 2019, section 4.2, figure 5
-- grain: one row per relation
-- formula: the rows of best_head with the largest gain, of those with p_corrected < p_below; all left out
-- run: unit=word needs=trees usual=sentence
-- plot: sentences label=relation,accuracy
-- empty: no relation with min_count dependents has a head that is above its best fixed offset by more than chance
--   (--min-count 10 tries rarer relations, --p-below 2 shows them all)
-- note: the sentence is the one of 8 to 16 words with the most dependents of the relation, of equals the shortest, then
--   the first; where there is none, the shortest that has one. Whether the head finds them does not matter. The paper
--   chose its examples by hand, and has one for coreference: see best_coreference_head, and show --coreference.
-- param most integer = 6: number of relations
-- param min_count integer = 100: leave out relations with fewer dependents (published code: 100)
-- param p_below double = 0.05: leave out relations whose p_corrected is not below it; 2 leaves none out
-- param run
-- column relation, layer, head, direction, n, accuracy, gain
-- column p_corrected double: as in best_relation: for all heads, directions and relations that were tried
-- column sentence, sent_id, run
with ranked_relation as (
    select best.*, tested.p_corrected, row_number() over (order by best.gain desc, best.relation) as place
    from best_head(run := $run, min_count := $min_count) as best
    inner join best_relation(run := $run, min_count := $min_count, most := 1000000) as tested
        using (relation, layer, head, direction)
    where coalesce(tested.p_corrected, cast(1 as double)) < $p_below
),

relation_dependent as (
    select distinct gold.relation, gold.dependent, word.sentence
    from gold_dependency(run := $run) as gold
    inner join word on word.id = gold.dependent
    inner join ranked_relation using (relation)
    where ranked_relation.place <= $most
),

selected_example as (
    select relation_dependent.relation, relation_dependent.sentence, sentence.name
    from relation_dependent
    inner join sentence on sentence.id = relation_dependent.sentence
    group by relation_dependent.relation, relation_dependent.sentence, sentence.name, sentence.words
    qualify row_number() over (
        partition by relation_dependent.relation
        order by
            case when sentence.words between 8 and 16 then 0 else 1 end,
            case when sentence.words between 8 and 16 then count(*) end desc nulls last,
            sentence.words, relation_dependent.sentence
    ) = 1
)

select
    ranked_relation.relation, ranked_relation.layer, ranked_relation.head, ranked_relation.direction, ranked_relation.n,
    ranked_relation.accuracy, ranked_relation.gain, ranked_relation.p_corrected, selected_example.sentence,
    selected_example.name as sent_id,
    (select name from chosen_run) as run
from ranked_relation
inner join selected_example using (relation)
order by ranked_relation.place
