-- title: A measure of each head of some runs, with its interval and its baseline
-- grain: one row per (run, layer, head, direction)
-- param runs
-- param measure varchar = 'accuracy' {accuracy, uuas, previous_token, duplicate_token, induction, entropy}: the measure
-- param relation varchar = null: of accuracy the relation; by default all dependents
-- column run integer: run.id of the run
-- column layer, head
-- column direction varchar: of accuracy and uuas the direction that is scored; else null
-- column value double: accuracy, uuas of the decoded trees, mean weight, or entropy in nats
-- column low double: lower end of its 95 % interval, by documents; null where all are in one
-- column high double: upper end of its 95 % interval
-- column baseline double: of accuracy the best fixed offset's, of uuas adjacent words'; else uniform attention's
-- column n bigint: dependents, positions, or inputs that it is over

-- A part whose measure is not $measure is given no runs, so that it reads nothing.
select
    hit.run, hit.layer, hit.head, hit.direction,
    hit.accuracy as value,
    wilson_low(hit.accuracy * hit.effective, hit.effective) as low,
    wilson_high(hit.accuracy * hit.effective, hit.effective) as high,
    best.accuracy as baseline,
    hit.n
from pair_hit(
    runs := case when $measure = 'accuracy' then $runs else [] end, saved := saved_relation_name($relation),
    by_documents := true
) as hit
inner join run on run.id = hit.run and run.unit = 'word'
left join best_offset(
    runs := case when $measure = 'accuracy' then $runs else [] end, saved := saved_relation_name($relation)
) as best using (run, relation, side)
where hit.relation = coalesce($relation, 'all')
union all
select
    run, layer, head, direction,
    uuas as value,
    low, high,
    adjacent as baseline,
    n
from tree_score(runs := case when $measure = 'uuas' then $runs else [] end) as tree
where source = 'head'
union all
select
    run, layer, head, null as direction,
    weight as value,
    weight_low as low,
    weight_high as high,
    weight_chance as baseline,
    n
from pattern_score(
    runs := case when $measure in ('previous_token', 'duplicate_token', 'induction') then $runs else [] end,
    pattern := $measure
) as pattern
union all
select
    run, layer, head, null as direction,
    sum(entropy) / sum(inputs) as value,
    sum(entropy) / sum(inputs) - clustered_margin(entropy, inputs) as low,
    sum(entropy) / sum(inputs) + clustered_margin(entropy, inputs) as high,
    sum(uniform) / sum(inputs) as baseline,
    cast(sum(inputs) as bigint) as n
from (
    select
        sequence.run, attention_map.layer, attention_map.head,
        input_cluster(clustered_document.by_sentences, sequence.id, sequence.document) as cluster,
        sum(attention_map.entropy) as entropy,
        sum(
            case
                when causality.is_causal then log_factorial(sequence.positions) / sequence.positions
                else ln(cast(sequence.positions as double))
            end
        ) as uniform,
        count(*) as inputs
    from sequence
    inner join run_causality() as causality using (run)
    inner join corpus_document(runs := $runs) as clustered_document using (run, document)
    inner join attention_map on attention_map.sequence = sequence.id
    where $measure = 'entropy'
        and list_contains($runs, sequence.run)
    group by all
) as cluster_entropy
group by run, layer, head
