-- title: How much attention each position of the inputs of a run gets from those that can see it, by head
-- grain: one row per (sequence, layer, head, position)
-- param runs
-- param to_position integer = null: only this position; null for all
-- column sequence
-- column cluster bigint: its document, or the input itself where the source marks none or the run reads one
-- column layer, head
-- column position bigint: 0-based place in the input
-- column weight double: mean weight on it of the positions that see it
-- column chance double: the same of even attention
with

input as materialized (
    select
        sequence.id as sequence,
        input_cluster(placed.by_sentences, sequence.id, sequence.document) as cluster,
        cast(sequence.positions as bigint) as positions,
        sight.is_causal,
        range(
            coalesce($to_position, 0),
            least(coalesce($to_position + 1, sequence.positions), cast(sequence.positions as bigint))
        ) as places
    from sequence
    inner join run_causality() as sight on sight.run = sequence.run
    inner join corpus_document(runs := $runs) as placed
        on placed.run = sequence.run
        and placed.document = sequence.document
),

placed_input as materialized (
    select
        input.sequence,
        input.cluster,
        unnest(input.places) as position,
        input.positions,
        input.is_causal
    from input
),

seen as materialized (
    select
        placed_input.sequence,
        placed_input.cluster,
        placed_input.position,
        case
            when placed_input.is_causal then placed_input.positions - placed_input.position
            else placed_input.positions
        end as seen_by,
        case
            when placed_input.is_causal
                then (harmonic(placed_input.positions) - harmonic(placed_input.position))
                    / (placed_input.positions - placed_input.position)
            else cast(1 as double) / placed_input.positions
        end as chance
    from placed_input
)

select
    attention_map.sequence,
    seen.cluster,
    attention_map.layer,
    attention_map.head,
    seen.position,
    weight_at(attention_map.received, seen.position) / seen.seen_by as weight,
    seen.chance
from attention_map
inner join seen on seen.sequence = attention_map.sequence
