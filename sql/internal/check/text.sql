-- What contradicts itself in the text of a bank: its documents, sentences, words and mentions, and their ids.
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

placed as (
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

followed as (
    select
        placed.*,
        lag(placed.id) over (partition by placed.document order by placed.id) as sentence_before,
        max(placed.last_word) over (
            partition by placed.document order by placed.id rows between unbounded preceding and 1 preceding
        ) as word_before
    from placed
),

documents as (
    select
        document.id, document.corpus, document.index, min(placed.first_word) as first_word,
        max(placed.last_word) as last_word
    from document
    left join placed on placed.document = document.id
    group by document.id, document.corpus, document.index
),

mentions as (
    select
        mention.document, count(*) as mentions, count(distinct mention.id) as ids, min(mention.id) as first_mention,
        max(mention.id) as last_mention, count(distinct mention.entity) as entities,
        min(mention.entity) as first_entity, max(mention.entity) as last_entity,
        min(least(mention.first_word, mention.last_word, mention.head_word)) as least_word,
        max(greatest(mention.first_word, mention.last_word, mention.head_word)) as largest_word
    from mention
    group by mention.document
)

select 'its table ' || listed.name || ' has ids twice' as reason
from (
    select 'document' as name, count(*) as rows, count(distinct document.id) as ids from document
    union all
    select 'sentence', count(*), count(distinct sentence.id) from sentence
    union all
    select 'word', count(*), count(distinct word.id) from word
    union all
    select 'mention', count(*), count(distinct mention.id) from mention
) as listed
where listed.rows <> listed.ids
union all
select 'two documents of a corpus have the same place (document.index)'
from document
group by document.corpus, document.index
having count(*) > 1
union all
select 'the words of sentence ' || placed.id || ' are not the ' || placed.words || ' that it should have'
from placed
where placed.is_faulty
union all
select 'the ids of document ' || followed.document || ' are not consecutive'
from followed
where
    followed.is_mixed or followed.id <> followed.sentence_before + 1
    or followed.first_word <> followed.word_before + 1
union all
select 'the ids of document ' || documents.id || ' are not consecutive'
from mentions
inner join documents on documents.id = mentions.document
where
    mentions.last_mention - mentions.first_mention + 1 <> mentions.ids
    or mentions.last_entity - mentions.first_entity + 1 <> mentions.entities
union all
select 'a mention of document ' || documents.id || ' has words of another document'
from mentions
inner join documents on documents.id = mentions.document
where not coalesce(mentions.least_word >= documents.first_word and mentions.largest_word <= documents.last_word, false)
limit 1
