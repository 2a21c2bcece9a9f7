-- The corpora of a bank, each with what it holds.
with

read_from as (
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
    group by document.corpus
),

in_tokens as (
    select
        document.corpus,
        count(*) as multiword_tokens,
        count(*) filter (where not token.is_spelled) as unspelled_tokens
    from multiword_token as token
    inner join sentence on sentence.id = token.sentence
    inner join document on document.id = sentence.document
    group by document.corpus
),

referring as (
    select document.corpus, count(*) as mentions
    from mention
    inner join document on document.id = mention.document
    group by document.corpus
)

select
    corpus.id,
    corpus.name,
    corpus.format,
    corpus.annotation,
    corpus.annotator,
    corpus.annotator_sha256,
    corpus.language,
    corpus.shard,
    corpus.licence,
    corpus.citation,
    read_from.splits,
    cast(coalesce(read_from.documents, 0) as bigint) as documents,
    cast(coalesce(read_from.unmarked_documents, 0) as bigint) as unmarked_documents,
    cast(coalesce(read_from.sentences, 0) as bigint) as sentences,
    cast(coalesce(read_from.words, 0) as bigint) as words,
    cast(coalesce(referring.mentions, 0) as bigint) as mentions,
    cast(coalesce(in_tokens.multiword_tokens, 0) as bigint) as multiword_tokens,
    cast(coalesce(in_tokens.unspelled_tokens, 0) as bigint) as unspelled_tokens,
    cast(coalesce(read_from.empty_nodes, 0) as bigint) as empty_nodes,
    corpus.path,
    corpus.sha256
from corpus
left join read_from on read_from.corpus = corpus.id
left join referring on referring.corpus = corpus.id
left join in_tokens on in_tokens.corpus = corpus.id
order by corpus.id
