-- What each document of an export holds.
with

sentence_count as (
    select own_sentence.document, count(*) as sentences, sum(own_sentence.words) as words
    from own_sentence
    group by own_sentence.document
),

mention_count as (
    select own_mention.document, count(*) as mentions, count(distinct own_mention.entity) as entities
    from own_mention
    group by own_mention.document
)

select
    own_document.id,
    own_document.corpus,
    sentence_count.sentences,
    sentence_count.words,
    coalesce(mention_count.mentions, 0) as mentions,
    coalesce(mention_count.entities, 0) as entities
from own_document
left join sentence_count on sentence_count.document = own_document.id
left join mention_count on mention_count.document = own_document.id
