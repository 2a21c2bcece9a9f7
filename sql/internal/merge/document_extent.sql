-- What each document of an attached source holds, and the first and last ids of it.
with

sentences as (
    select
        sentence.document, count(*) as sentences, min(sentence.id) as first_sentence,
        max(sentence.id) as last_sentence
    from source.main.sentence as sentence
    group by sentence.document
),

words as (
    select
        sentence.document, count(*) as words, min(word.id) as first_word, max(word.id) as last_word
    from source.main.word as word
    inner join source.main.sentence as sentence on sentence.id = word.sentence
    group by sentence.document
),

mentions as (
    select
        mention.document, count(*) as mentions, min(mention.id) as first_mention,
        max(mention.id) as last_mention, count(distinct mention.entity) as entities,
        min(mention.entity) as first_entity, max(mention.entity) as last_entity,
        min(least(mention.first_word, mention.last_word, mention.head_word)) as least_word,
        max(greatest(mention.first_word, mention.last_word, mention.head_word)) as largest_word
    from source.main.mention as mention
    group by mention.document
)

select
    document.id as old, document.corpus as old_corpus, document.index,
    coalesce(sentences.sentences, 0) as sentences, sentences.first_sentence,
    sentences.last_sentence,
    coalesce(words.words, 0) as words, words.first_word, words.last_word,
    coalesce(mentions.mentions, 0) as mentions, mentions.first_mention, mentions.last_mention,
    coalesce(mentions.entities, 0) as entities, mentions.first_entity, mentions.last_entity,
    mentions.least_word, mentions.largest_word
from source.main.document as document
left join sentences on sentences.document = document.id
left join words on words.document = document.id
left join mentions on mentions.document = document.id
