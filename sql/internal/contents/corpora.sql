-- The corpora of a bank, with their sizes.
with text_size as (
    select
        document.corpus,
        count(distinct document.id) as documents,
        count(distinct case when not document.marked then document.id end) as unmarked_documents,
        count(sentence.id) as sentences,
        sum(sentence.words) as words,
        sum(sentence.empty_nodes) as empty_nodes,
        list_sort(list(distinct document.split) filter (where document.split is not null)) as splits
    from document
    left join sentence on sentence.document = document.id
    group by all
),

token_count as (
    select
        document.corpus,
        count(*) as multiword_tokens,
        count(*) filter (where not token.is_spelled) as unspelled_tokens
    from multiword_token as token
    inner join sentence on sentence.id = token.sentence
    inner join document on document.id = sentence.document
    group by all
),

mention_count as (
    select document.corpus, count(*) as mentions
    from mention
    inner join document on document.id = mention.document
    group by all
)

select
    corpus.id, corpus.name, corpus.format, corpus.annotation, corpus.annotator, corpus.annotator_sha256,
    corpus.language, corpus.shard, corpus.licence, corpus.citation, text_size.splits,
    cast(coalesce(text_size.documents, 0) as bigint) as documents,
    cast(coalesce(text_size.unmarked_documents, 0) as bigint) as unmarked_documents,
    cast(coalesce(text_size.sentences, 0) as bigint) as sentences,
    cast(coalesce(text_size.words, 0) as bigint) as words,
    cast(coalesce(mention_count.mentions, 0) as bigint) as mentions,
    cast(coalesce(token_count.multiword_tokens, 0) as bigint) as multiword_tokens,
    cast(coalesce(token_count.unspelled_tokens, 0) as bigint) as unspelled_tokens,
    cast(coalesce(text_size.empty_nodes, 0) as bigint) as empty_nodes,
    corpus.path, corpus.sha256
from corpus
left join text_size on text_size.corpus = corpus.id
left join mention_count on mention_count.corpus = corpus.id
left join token_count on token_count.corpus = corpus.id
order by corpus.id
