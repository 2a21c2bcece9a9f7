-- title: Every gold dependency of some runs, and where its two words stand in the attention maps
-- grain: one row per word that has a syntactic head or is a root, in the inputs of each run
-- note: gold_dependency says what is judged, and why; it is this over one run.
-- param runs integer[] = []: run.id of the runs, each over words
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- param saved varchar = null: the pairs of this saved relation instead of the dependencies
-- column run integer: run.id of the run
-- column sequence integer: sequence.id of the input
-- column document integer: document.id
-- column sentence integer: sentence.id
-- column dependent integer: word.id of the dependent
-- column head integer: word.id of its head; null for a root
-- column relation varchar: the relation of the dependent to its head
-- column is_root boolean: whether the word is the root of its sentence, which has no head to find
-- column position smallint: position whose prediction is judged: the dependent's, or that of its possessive 's
-- column head_position smallint: position of the head; null for a root
with

placed_word as (
    select
        sequence.run,
        sequence.id as sequence,
        sequence.document,
        word_position.position,
        word.id as word,
        word.sentence,
        word.index,
        word.form,
        word.head_index,
        word.deprel
    from sequence
    inner join word_position on word_position.sequence = sequence.id
    inner join word on word.id = word_position.word
    where word_position.kind = 'word'
        and list_contains($runs, sequence.run)
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
        dependent.run,
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
        dependent.run,
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
        and gold_head.position <> dependent.position
),

judged as (
    select
        with_head.run,
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
    where with_head.head_position is null or with_head.head_position <> with_head.position
    union all
    select
        saved.run,
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
    judged.run,
    judged.sequence,
    judged.document,
    judged.sentence,
    judged.dependent,
    judged.head,
    judged.relation,
    judged.is_root,
    judged.position,
    judged.head_position
from judged
where refuse_unless(
    $saved is null or as_saved($saved) is not null, concat('There is no saved relation ', $saved, '.')
)
