-- Contradictions in the text of a bank: in its documents, sentences, words and mentions, and their ids.
with

words_of_sentence as (
    select
        word.sentence, count(*) as words, count(distinct word.index) as indexes, min(word.index) as first_index,
        max(word.index) as last_index, min(word.id) as first_word, max(word.id) as last_word,
        min(word.id - word.index) as least_start, max(word.id - word.index) as largest_start,
        min(word.head_index) as least_head, max(word.head_index) as largest_head
    from word
    group by word.sentence
),

checked_sentence as (
    select
        sentence.id, sentence.document, sentence.words, words_of_sentence.first_word,
        words_of_sentence.last_word,
        coalesce(words_of_sentence.words, 0) <> sentence.words
        or words_of_sentence.indexes <> words_of_sentence.words or words_of_sentence.first_index <> 1
        or words_of_sentence.last_index <> words_of_sentence.words
        or words_of_sentence.least_head < 0 or words_of_sentence.largest_head > sentence.words
            as is_faulty,
        coalesce(words_of_sentence.least_start <> words_of_sentence.largest_start, false) as is_mixed
    from sentence
    left join words_of_sentence on words_of_sentence.sentence = sentence.id
),

-- The sentences, words and mentions of a document are read as ranges of ids.
ordered_sentence as (
    select
        checked_sentence.*,
        lag(checked_sentence.id) over (
            partition by checked_sentence.document order by checked_sentence.id
        ) as sentence_before,
        max(checked_sentence.last_word) over (
            partition by checked_sentence.document
            order by checked_sentence.id rows between unbounded preceding and 1 preceding
        ) as word_before
    from checked_sentence
),

document_extent as (
    select
        document.id, min(checked_sentence.first_word) as first_word,
        max(checked_sentence.last_word) as last_word
    from document
    left join checked_sentence on checked_sentence.document = document.id
    group by document.id
),

mention_extent as (
    select
        mention.document, count(*) as mentions, count(distinct mention.id) as ids, min(mention.id) as first_mention,
        max(mention.id) as last_mention, count(distinct mention.entity) as entities,
        min(mention.entity) as first_entity, max(mention.entity) as last_entity,
        min(least(mention.first_word, mention.last_word, mention.head_word)) as least_word,
        max(greatest(mention.first_word, mention.last_word, mention.head_word)) as largest_word
    from mention
    group by mention.document
)

select 'its table ' || id_count.name || ' has ids twice' as reason
from (
    select 'document' as name, count(*) as rows, count(distinct document.id) as ids from document
    union all
    select 'sentence', count(*), count(distinct sentence.id) from sentence
    union all
    select 'word', count(*), count(distinct word.id) from word
    union all
    select 'mention', count(*), count(distinct mention.id) from mention
) as id_count
where id_count.rows <> id_count.ids
union all
select 'two documents of a corpus have the same place (document.index)'
from document
group by document.corpus, document.index
having count(*) > 1
union all
select 'the id of document ' || document.id || ' is not that of its place in its corpus'
from document
where document.id <> ((cast(document.corpus as bigint) - 1) << 40) + document.index
union all
select 'the ids of document ' || ordered_sentence.document || ' are those of another corpus'
from ordered_sentence
where
    ordered_sentence.id >> 40 <> ordered_sentence.document >> 40
    or ordered_sentence.first_word >> 40 <> ordered_sentence.document >> 40
union all
select 'the ids of document ' || mention_extent.document || ' are those of another corpus'
from mention_extent
where
    mention_extent.first_mention >> 40 <> mention_extent.document >> 40
    or mention_extent.first_entity >> 40 <> mention_extent.document >> 40
union all
select
    'the words of sentence ' || checked_sentence.id || ' are not the ' || checked_sentence.words
    || ' that it should have'
from checked_sentence
where checked_sentence.is_faulty
union all
select 'the ids of document ' || ordered_sentence.document || ' are not consecutive'
from ordered_sentence
where
    ordered_sentence.is_mixed or ordered_sentence.id <> ordered_sentence.sentence_before + 1
    or ordered_sentence.first_word <> ordered_sentence.word_before + 1
union all
select 'the ids of document ' || document_extent.id || ' are not consecutive'
from mention_extent
inner join document_extent on document_extent.id = mention_extent.document
where
    mention_extent.last_mention - mention_extent.first_mention + 1 <> mention_extent.ids
    or mention_extent.last_entity - mention_extent.first_entity + 1 <> mention_extent.entities
union all
select 'a mention of document ' || document_extent.id || ' has words of another document'
from mention_extent
inner join document_extent on document_extent.id = mention_extent.document
where not coalesce(
    mention_extent.least_word >= document_extent.first_word
    and mention_extent.largest_word <= document_extent.last_word,
    false
)
limit 1
