-- title: Every gold dependency of some runs, with the positions of its two words in the attention maps
-- grain: one row per word that has a syntactic head or is a root, in the inputs of each run
-- note: gold_dependency says what is scored, and why; it is this over one run.
-- param runs, subtypes, possessive, saved
-- column run integer: run.id of the run
-- column sequence, document, sentence, dependent
-- column head bigint: word.id of its head; null for a root
-- column relation varchar: the relation of the dependent to its head
-- column is_root
-- column position smallint: position whose prediction is scored: the dependent's, or that of its possessive 's
-- column head_position, split
-- column side varchar: both, or the side of the head, left or right, whose direction is scored on it; null for none
-- column cluster bigint: the unit of tests and intervals: the number of its document in the corpus, or of its sentence
--   if the source marks no documents or the run has only one, modulo 100. Heads are chosen on the odd ones

-- Read once: a parameter may be a subquery, which is planned wherever it is named.
with wanted_relation as (
    select parameter.relation
    from (select $saved as relation) as parameter
    left join (select distinct relation from saved_pair) as known_relation
        on known_relation.relation = parameter.relation
    where require(
        parameter.relation is null or known_relation.relation is not null,
        concat('There is no saved relation ', parameter.relation, '.')
    )
),

placed_word as (
    select
        sequence.run,
        sequence.id as sequence,
        sequence.document, word_position.position,
        word.id as word,
        word.sentence, word.index, word.form, word.head_index, word.deprel
    from sequence
    inner join word_position on word_position.sequence = sequence.id
    inner join word on word.id = word_position.word
    where list_contains($runs, sequence.run)
),

clitic as (
    select sequence, sentence, index, head_index, position
    from placed_word
    where without_subtype(deprel) in ('case', 'possessive')
        and lower(form) in ('''s', '’s', 's''', 's’', '''', '’', 's')
),

pair as (
    select
        dependent.run, dependent.sequence, dependent.document, dependent.sentence,
        dependent.word as dependent,
        gold_head.word as head,
        case when $subtypes then dependent.deprel else without_subtype(dependent.deprel) end as relation,
        dependent.head_index = 0 as is_root,
        case
            when $possessive and dependent.deprel in ('poss', 'nmod:poss')
                then coalesce(clitic.position, dependent.position)
            else dependent.position
        end as position,
        gold_head.position as head_position
    from placed_word as dependent
    inner join wanted_relation on wanted_relation.relation is null
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
    union all
    select
        dependent.run, dependent.sequence, dependent.document, dependent.sentence,
        dependent.word as dependent,
        gold_head.word as head,
        saved_pair.relation,
        false as is_root,
        dependent.position,
        gold_head.position as head_position
    from saved_pair
    -- Not an equality: where there is no saved relation, DuckDB 2.0.0 would push a filter on the relation, split_part
    -- in the where of a reader, down to a column of nulls, and fail.
    inner join wanted_relation on list_contains([wanted_relation.relation], saved_pair.relation)
    inner join placed_word as dependent using (word)
    inner join placed_word as gold_head
        on gold_head.word = saved_pair.head_word
        and gold_head.sequence = dependent.sequence
)

select
    pair.*,
    document.split,
    case
        when first_word.position = pair.position or first_word.position = pair.head_position then null
        when not causality.is_causal then 'both'
        when pair.head_position < pair.position then 'left'
        when pair.head_position > pair.position then 'right'
    end as side,
    cluster_of(clustered_document.clusters_before, clustered_document.by_sentences, sentence.index) % 100 as cluster
from pair
inner join document on document.id = pair.document
inner join sentence on sentence.id = pair.sentence
inner join corpus_document(runs := $runs) as clustered_document
    on clustered_document.run = pair.run
    and clustered_document.document = pair.document
inner join run_causality() as causality on causality.run = pair.run
left join position as first_word
    on first_word.sequence = pair.sequence
    and first_word.kind = 'first'
where pair.head_position is null or pair.head_position <> pair.position
