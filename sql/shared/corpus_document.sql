-- title: The documents of the corpora of some runs, with the clusters that statistics use
-- grain: one row per (run, document)
-- note: everything that uses clusters (halves to choose heads on, intervals, tests) takes them from here, so that all
--   have the same. A document is a cluster if its source marks it (document.marked). Otherwise, and in a run with a
--   single document, each of its sentences is one, since a result must not depend on the number of files of a treebank.
-- param runs
-- column run integer: run.id of the run
-- column document
-- column clusters_before bigint: how many clusters the documents before it in the corpus make (see cluster_of)
-- column by_sentences boolean: whether each of its sentences is a cluster
-- column clustered_by varchar: what the clusters of the run are: documents, sentences, or documents and sentences
with run_corpus as (
    select sequence.run, document.corpus, count(distinct sequence.document) = 1 as is_single
    from sequence
    inner join document on document.id = sequence.document
    where list_contains($runs, sequence.run)
    group by all
),

sentence_count as (
    select document, max(index) as sentences
    from sentence
    group by all
),

clustered_document as (
    select
        run_corpus.run,
        document.id as document,
        document.index,
        run_corpus.is_single or not document.marked as by_sentences,
        case
            when run_corpus.is_single or not document.marked then coalesce(sentence_count.sentences, 0) else 1
        end as clusters
    from document
    inner join run_corpus using (corpus)
    left join sentence_count on sentence_count.document = document.id
)

select
    run, document,
    cast(sum(clusters) over (partition by run order by index, document) - clusters as bigint) as clusters_before,
    by_sentences,
    case
        when min(case when by_sentences then 1 else 0 end) over (partition by run) = 1 then 'sentences'
        when max(case when by_sentences then 1 else 0 end) over (partition by run) = 0 then 'documents'
        else 'documents and sentences'
    end as clustered_by
from clustered_document
