-- title: The gold dependencies that a decoded tree can have, in the inputs of some runs
-- grain: one row per word that has a head among the words of its tree, in the inputs of each run
-- note: left out are roots, pairs of words that share a position, and, unless is_whole, pairs that no tree can have.
-- param runs
-- param within integer[] = []: run.id of runs whose trees must be able to have the dependencies, too
-- param is_whole boolean = false: keep those too: pairs with a first word that is set apart, or a word that the input
--   lacks, or that are not in the runs within
-- param punctuation boolean = false: keep dependencies of which either word is punctuation
-- param classification varchar = null {relation, length}: how they are classed; null for one class, all
-- column run integer: run.id of the run
-- column sequence, sentence, dependent
-- column position smallint: position of the dependent
-- column head_position, relation
-- column is_findable boolean: whether a tree can have it; true unless is_whole
-- column cluster of gold_pair
-- column class varchar: its relation, or the range of the length of its sentence in words; all without a classification
with tree_pair as (
    select
        gold_pair.*,
        side is not null
        and head_position is not null
        and (
            len($within) = 0
            or dependent in (
                select dependent
                from gold_pair(runs := $within) as other
                where side is not null
                    and head_position is not null
            )
        ) as is_findable
    from gold_pair(runs := $runs) as gold_pair
    where not is_root
)

select
    tree_pair.run, tree_pair.sequence, tree_pair.sentence, tree_pair.dependent, tree_pair.position,
    tree_pair.head_position, tree_pair.relation, tree_pair.is_findable, tree_pair.cluster,
    case
        when $classification is null then 'all'
        when $classification = 'relation' then tree_pair.relation
        when sentence.words <= 10 then '1-10 words'
        when sentence.words <= 20 then '11-20 words'
        when sentence.words <= 30 then '21-30 words'
        when sentence.words <= 40 then '31-40 words'
        else 'over 40 words'
    end as class
from tree_pair
inner join sentence on sentence.id = tree_pair.sentence
inner join word as head_word on head_word.id = tree_pair.head
where ($is_whole or tree_pair.is_findable)
    and (
        $punctuation
        or not (tree_pair.relation in ('punct', 'p') or without_subtype(head_word.deprel) in ('punct', 'p'))
    )
