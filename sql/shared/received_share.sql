-- title: The mean attention that each position of the inputs of a run receives from the positions that see it, by head
-- grain: one row per (sequence, layer, head, position)
-- param runs
-- param to_position integer = null: only this position; null for all
-- column sequence
-- column cluster bigint: its document, or the input itself if the source marks no documents or the run has only one
-- column layer, head
-- column position bigint: 0-based place in the input
-- column weight double: mean weight on it of the positions that see it
-- column chance double: the same of uniform attention
with input_position as materialized (
    select
        sequence.id as sequence,
        input_cluster(clustered_document.by_sentences, sequence.id, sequence.document) as cluster,
        cast(sequence.positions as bigint) as positions,
        causality.is_causal,
        unnest(range(
            coalesce($to_position, 0),
            least(coalesce($to_position + 1, sequence.positions), cast(sequence.positions as bigint))
        )) as position
    from sequence
    inner join run_causality() as causality using (run)
    inner join corpus_document(runs := $runs) as clustered_document using (run, document)
),

visible_position as materialized (
    select
        sequence, cluster, position,
        case when is_causal then positions - position else positions end as seen_by,
        case
            when is_causal
                then (harmonic(positions) - harmonic(position))
                    / (positions - position)
            else cast(1 as double) / positions
        end as chance
    from input_position
)

select
    attention_map.sequence, visible_position.cluster, attention_map.layer, attention_map.head,
    visible_position.position,
    weight_at(attention_map.received, visible_position.position) / visible_position.seen_by as weight,
    visible_position.chance
from attention_map
inner join visible_position using (sequence)
