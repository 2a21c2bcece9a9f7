-- title: The minimal pairs of some runs, with their margins and clusters
-- grain: one row per (source, pair)
-- note: pairs that the model cannot score are left out.
-- param runs
-- column run integer: run.id of the run
-- column source, paradigm, attractors, distance, margin
-- column pair integer: minimal_pair.number
-- column word bigint: word.id of the verb; null for a pair of a file
-- column cluster bigint: the document of the verb, its sentence if the source marks no documents or the run has only
--   one; of a file the pair
select
    minimal_pair.run, minimal_pair.source,
    minimal_pair.number as pair,
    minimal_pair.paradigm, minimal_pair.word,
    case
        when clustered_document.clusters_before is null then cast(minimal_pair.number as bigint)
        else cluster_of(clustered_document.clusters_before, clustered_document.by_sentences, sentence.index)
    end as cluster,
    cast(minimal_pair.attractors as integer) as attractors,
    cast(minimal_pair.distance as integer) as distance,
    minimal_pair.bad_nats - minimal_pair.good_nats as margin
from minimal_pair
left join word on word.id = minimal_pair.word
left join sentence on sentence.id = word.sentence
left join corpus_document(runs := $runs) as clustered_document using (run, document)
where list_contains($runs, minimal_pair.run)
    and minimal_pair.good_nats is not null
    and minimal_pair.bad_nats is not null
