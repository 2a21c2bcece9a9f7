-- title: Every gold dependency of some runs, and where its two words stand in the attention maps
-- grain: one row per word that has a syntactic head or is a root, in the inputs of each run
-- note: gold_dependency says what is judged, and why; it is this over one run.
-- param runs, subtypes, possessive, saved
-- column run integer: run.id of the run
-- column sequence, document, sentence, dependent
-- column head integer: word.id of its head; null for a root
-- column relation varchar: the relation of the dependent to its head
-- column is_root
-- column position smallint: position whose prediction is judged: the dependent's, or that of its possessive 's
-- column head_position, split
-- column side varchar: both, left or right: which direction is judged on it (see gold_dependency); null for none
-- column cluster bigint: what tests and intervals by documents go by: the number of its document in the corpus, or of
--   its sentence where the source marks none or the run reads one, modulo 100. The odd ones are the half that heads are
--   chosen on
with

-- Read once: a parameter may be a subquery, which is planned wherever it is named.
asked as (
    select given.relation
    from (select $saved as relation) as given
    left join (select distinct saved_pair.relation from saved_pair) as known on known.relation = given.relation
    where require(
        given.relation is null or known.relation is not null,
        concat('There is no saved relation ', given.relation, '.')
    )
),

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
    where list_contains($runs, sequence.run)
),

clitic as (
    select placed_word.sequence, placed_word.sentence, placed_word.index, placed_word.head_index, placed_word.position
    from placed_word
    where without_subtype(placed_word.deprel) in ('case', 'possessive')
        and lower(placed_word.form) in ('''s', '’s', 's''', 's’', '''', '’', 's')
),

pair as (
    select
        dependent.run,
        dependent.sequence,
        dependent.document,
        dependent.sentence,
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
    inner join asked on asked.relation is null
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
        dependent.run,
        dependent.sequence,
        dependent.document,
        dependent.sentence,
        dependent.word as dependent,
        gold_head.word as head,
        saved_pair.relation,
        false as is_root,
        dependent.position,
        gold_head.position as head_position
    from saved_pair
    -- Not an equality: where there is no saved relation, DuckDB 2.0.0 would push a filter on the relation, split_part
    -- in the where of a reader, down to a column of nulls, and fail.
    inner join asked on list_contains([asked.relation], saved_pair.relation)
    inner join placed_word as dependent on dependent.word = saved_pair.word
    inner join placed_word as gold_head
        on gold_head.word = saved_pair.head_word
        and gold_head.sequence = dependent.sequence
)

select
    pair.*,
    document.split,
    case
        when apart.position = pair.position or apart.position = pair.head_position then null
        when not sight.is_causal then 'both'
        when pair.head_position < pair.position then 'left'
        when pair.head_position > pair.position then 'right'
    end as side,
    cluster_of(placed.clusters_before, placed.by_sentences, sentence.index) % 100 as cluster
from pair
inner join document on document.id = pair.document
inner join sentence on sentence.id = pair.sentence
inner join corpus_document(runs := $runs) as placed
    on placed.run = pair.run
    and placed.document = pair.document
inner join run_sight() as sight on sight.run = pair.run
left join position as apart
    on apart.sequence = pair.sequence
    and apart.kind = 'first'
where pair.head_position is null or pair.head_position <> pair.position
