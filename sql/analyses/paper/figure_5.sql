-- title: Figure 5 from the bank: the best heads for relations, each on a sentence that has the relation
-- paper: Clark et al. 2019, section 4.2, figure 5
-- grain: one row per relation
-- formula: the rows of best_head with the largest gain, of those with p_corrected < p_below; all left out
-- run: unit=word needs=trees usual=sentence
-- plot: sentences label=relation,accuracy
-- empty: no relation with min_count dependents has a head that is above its best fixed offset by more than chance
--   (--min-count 10 tries rarer relations, --p-below 2 shows them all)
-- note: the sentence is the one of 8 to 16 words with the most dependents of the relation, of equals the shortest, then
--   the first; where there is none, the shortest that has one. Whether the head finds them has no say. The paper chose
--   its examples by hand, and has a head for coreference beside these: see best_coreference_head, and show
--   --coreference.
-- param most integer = 6: how many relations
-- param min_count integer = 100: leave out relations with fewer dependents (published code: 100)
-- param p_below double = 0.05: leave out relations whose p_corrected is not below it; 2 leaves none out
-- param run
-- column relation, layer, head, direction, n, accuracy, gain
-- column p_corrected double: as in best_relation: for all heads, directions and relations that were tried
-- column sentence
-- column sent_id varchar: its name in the corpus; null where it has none
-- column run
with

ranked as (
    select
        found.*,
        tested.p_corrected,
        row_number() over (order by found.gain desc, found.relation) as place
    from best_head(run := $run, min_count := $min_count) as found
    inner join best_relation(run := $run, min_count := $min_count, most := 1000000) as tested
        on tested.relation = found.relation
        and tested.layer = found.layer
        and tested.head = found.head
        and tested.direction = found.direction
    where coalesce(tested.p_corrected, cast(1 as double)) < $p_below
),

dependent as (
    select distinct gold.relation, gold.dependent, word.sentence
    from gold_dependency(run := $run) as gold
    inner join word on word.id = gold.dependent
    inner join ranked on ranked.relation = gold.relation
    where ranked.place <= $most
),

length as (
    select word.sentence, count(*) as words
    from word
    where word.sentence in (select dependent.sentence from dependent)
    group by word.sentence
),

example as (
    select dependent.relation, dependent.sentence, count(*) as dependents
    from dependent
    group by dependent.relation, dependent.sentence
),

chosen as (
    select example.relation, example.sentence
    from example
    inner join length on length.sentence = example.sentence
    qualify row_number() over (
        partition by example.relation
        order by
            case when length.words between 8 and 16 then 0 else 1 end,
            case when length.words between 8 and 16 then example.dependents end desc nulls last,
            length.words,
            example.sentence
    ) = 1
)

select
    ranked.relation,
    ranked.layer,
    ranked.head,
    ranked.direction,
    ranked.n,
    ranked.accuracy,
    ranked.gain,
    ranked.p_corrected,
    chosen.sentence,
    sentence.name as sent_id,
    (select chosen_run.name from chosen_run) as run
from ranked
inner join chosen on chosen.relation = ranked.relation
inner join sentence on sentence.id = chosen.sentence
order by ranked.place
