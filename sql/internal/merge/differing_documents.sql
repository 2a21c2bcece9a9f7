-- The first document that is not the same in all exports that have its shard, or that one of them lacks.
with export_count as (
    select corpus, shard, count(distinct export) as exports
    from document_size
    group by all
),

document_count as (
    select
        document, corpus, shard,
        count(*) as exports,
        count(distinct sentences) as sentences,
        count(distinct words) as words,
        count(distinct mentions) as mentions,
        count(distinct entities) as entities
    from document_size
    group by all
)

select document_count.document
from document_count
inner join export_count using (corpus, shard)
where document_count.exports <> export_count.exports
    or greatest(document_count.sentences, document_count.words, document_count.mentions, document_count.entities) > 1
order by document_count.document
limit 1
