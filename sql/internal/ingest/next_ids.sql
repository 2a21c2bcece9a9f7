-- The first unused id of each kind, larger than all that were ever used.
with

last_id as (
    select 'corpus' as kind, max(corpus.id) as last from corpus
    union all
    select 'document' as kind, max(document.id) as last from document
    union all
    select 'sentence' as kind, max(sentence.id) as last from sentence
    union all
    select 'word' as kind, max(word.id) as last from word
    union all
    select 'mention' as kind, max(mention.id) as last from mention
    union all
    select 'entity' as kind, max(mention.entity) as last from mention
    union all
    select 'model' as kind, max(model.id) as last from model
    union all
    select 'run' as kind, max(run.id) as last from run
    union all
    select 'probe' as kind, max(probe.id) as last from probe
    union all
    select 'sequence' as kind, max(run.first_sequence + corpus_size.sentences - 1) as last
    from run
    inner join (
        select document.corpus, count(*) as sentences
        from sentence
        inner join document on document.id = sentence.document
        group by document.corpus
    ) as corpus_size on corpus_size.corpus = run.corpus
    union all
    select used_id.kind, used_id.last from used_id
)

select last_id.kind, coalesce(max(last_id.last), 0) + 1 as id
from last_id
group by last_id.kind
order by last_id.kind
