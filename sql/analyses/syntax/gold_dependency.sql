-- title: Every gold dependency of a run, and where its two words stand in the attention maps
-- paper: Clark et al. 2019, section 4.2
-- grain: one row per word that has a syntactic head or is a root, in the inputs of the run
-- formula: the pairs (d, head(d)) of the trees, as positions of the inputs: head(d) is the gold head of the
--   dependent d
-- run: unit=word needs=trees usual=sentence
-- note: the other analyses of dependency relations read this one, so that all of them judge the same words.
-- note: a pair of a saved relation whose two words are not in one input of the run is left out.
-- note: the possessive 's of a possessor (relation poss or nmod:poss) is the next word, where it is a dependent of the
--   possessor with the relation case (Stanford Dependencies: possessive) and is written 's, s', ' or s, with either
--   apostrophe. An opening quotation mark is no such dependent. The published code takes only possessors of the relation
--   poss and next words of the forms 's and s', whatever their relation; so it judges dogs' tails, where the clitic is ',
--   by the word dogs.
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- param saved varchar = null: the pairs of this saved relation instead of the dependencies (attnbank save)
-- column sequence integer: sequence.id of the input
-- column document integer: document.id
-- column split varchar: split of the document
-- column sentence integer: sentence.id
-- column dependent integer: word.id of the dependent
-- column head integer: word.id of its head; null for a root
-- column relation varchar: the relation of the dependent to its head
-- column is_root boolean: whether the word is the root of its sentence, which has no head to find
-- column position smallint: position whose prediction is judged: the dependent's, or that of its possessive 's
-- column head_position smallint: position of the head; null for a root
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

placed_word as (
    select
        sequence.id as sequence,
        sequence.document,
        position.position,
        word.id as word,
        word.sentence,
        word.index,
        word.form,
        word.head_index,
        word.deprel
    from sequence
    inner join chosen_run on chosen_run.id = sequence.run
    inner join position on position.sequence = sequence.id
    inner join word on word.id = position.word
    where position.kind = 'word'
),

clitic as (
    select
        placed_word.sequence,
        placed_word.sentence,
        placed_word.index,
        placed_word.head_index,
        placed_word.position
    from placed_word
    where without_subtype(placed_word.deprel) in ('case', 'possessive')
        and lower(placed_word.form) in ('''s', '’s', 's''', 's’', '''', '’', 's')
),

with_head as (
    select
        dependent.sequence,
        dependent.document,
        dependent.sentence,
        dependent.word as dependent,
        dependent.deprel,
        gold_head.word as head,
        dependent.head_index = 0 as is_root,
        case
            when $possessive and dependent.deprel in ('poss', 'nmod:poss')
                then coalesce(clitic.position, dependent.position)
            else dependent.position
        end as position,
        gold_head.position as head_position
    from placed_word as dependent
    left join placed_word as gold_head
        on gold_head.sequence = dependent.sequence
        and gold_head.sentence = dependent.sentence
        and gold_head.index = dependent.head_index
    left join clitic
        on clitic.sequence = dependent.sequence
        and clitic.sentence = dependent.sentence
        and clitic.index = dependent.index + 1
        and clitic.head_index = dependent.index
    where dependent.head_index is not null
        and $saved is null
),

saved as (
    select
        dependent.sequence,
        dependent.document,
        dependent.sentence,
        dependent.word as dependent,
        gold_head.word as head,
        saved_pair.relation as deprel,
        false as is_root,
        dependent.position,
        gold_head.position as head_position
    from saved_pair
    inner join placed_word as dependent on dependent.word = saved_pair.word
    inner join placed_word as gold_head
        on gold_head.word = saved_pair.head_word
        and gold_head.sequence = dependent.sequence
    where saved_pair.relation = $saved
),

judged as (
    select
        with_head.sequence,
        with_head.document,
        with_head.sentence,
        with_head.dependent,
        with_head.head,
        case when $subtypes then with_head.deprel else without_subtype(with_head.deprel) end as relation,
        with_head.is_root,
        with_head.position,
        with_head.head_position
    from with_head
    union all
    select
        saved.sequence,
        saved.document,
        saved.sentence,
        saved.dependent,
        saved.head,
        saved.deprel as relation,
        saved.is_root,
        saved.position,
        saved.head_position
    from saved
)

select
    judged.sequence,
    judged.document,
    document.split,
    judged.sentence,
    judged.dependent,
    judged.head,
    judged.relation,
    judged.is_root,
    judged.position,
    judged.head_position,
    (select chosen_run.name from chosen_run) as run
from judged
inner join document on document.id = judged.document
where refuse_unless(
    $saved is null or as_saved($saved) is not null, concat('There is no saved relation ', $saved, '.')
)
order by judged.sequence, judged.position, judged.dependent, judged.head_position
