-- What each document of an export holds.
with sentence_count as (
    select document, count(*) as sentences, sum(words) as words
    from own_sentence
    group by all
),

mention_count as (
    select document, count(*) as mentions, count(distinct entity) as entities
    from own_mention
    group by all
)

select
    own_document.id, own_document.corpus, sentence_count.sentences, sentence_count.words,
    coalesce(mention_count.mentions, 0) as mentions,
    coalesce(mention_count.entities, 0) as entities
from own_document
left join sentence_count on sentence_count.document = own_document.id
left join mention_count on mention_count.document = own_document.id
