-- title: A measure of each head of some runs, with its interval and its baseline
-- grain: one row per (run, layer, head, direction)
-- param runs
-- param measure varchar = 'accuracy' {accuracy, uuas, previous_token, duplicate_token, induction, entropy}: the measure
-- param relation varchar = null: of accuracy the relation; null for all dependents
-- column run integer: run.id of the run
-- column layer, head
-- column direction varchar: of accuracy and uuas the direction that is scored; else null
-- column value double: accuracy, uuas of the decoded trees, mean weight, or entropy in nats
-- column low double: lower end of its 95 % interval, by documents; null where all are in one
-- column high double: upper end of its 95 % interval
-- column baseline double: of accuracy that of the best fixed offset, of uuas that of adjacent words; else what uniform
--   attention gives
-- column n bigint: dependents, positions, or inputs that it is over
-- A part whose measure is not $measure is given no runs, so that it reads nothing.
select
    hit.run,
    hit.layer,
    hit.head,
    hit.direction,
    hit.accuracy as value,
    wilson_low(hit.accuracy * hit.effective, hit.effective) as low,
    wilson_high(hit.accuracy * hit.effective, hit.effective) as high,
    best.accuracy as baseline,
    hit.n
from pair_hit(
    runs := case when $measure = 'accuracy' then $runs else [] end, subtypes := false, possessive := false,
    saved := saved_relation_name($relation), by_documents := true
) as hit
inner join run on run.id = hit.run and run.unit = 'word'
left join best_offset(
    runs := case when $measure = 'accuracy' then $runs else [] end, subtypes := false, possessive := false,
    saved := saved_relation_name($relation), offsets := [-3, -2, -1, 1, 2, 3], clamped := false
) as best
    on best.run = hit.run
    and best.relation = hit.relation
    and best.side = hit.side
where hit.relation = coalesce($relation, 'all')
union all
select
    tree.run,
    tree.layer,
    tree.head,
    tree.direction,
    ratio(sum(tree.found), sum(tree.n)) as value,
    wilson_low(
        ratio(sum(tree.found), sum(tree.n)) * clustered_n(tree.found, tree.n), clustered_n(tree.found, tree.n)
    ) as low,
    wilson_high(
        ratio(sum(tree.found), sum(tree.n)) * clustered_n(tree.found, tree.n), clustered_n(tree.found, tree.n)
    ) as high,
    ratio(sum(tree.found - tree.only_tree + tree.only_chain), sum(tree.n)) as baseline,
    cast(sum(tree.n) as bigint) as n
from tree_hit(
    runs := case when $measure = 'uuas' then $runs else [] end, root := 'none', decoder := 'spanning',
    punctuation := false
) as tree
where tree.source = 'head'
group by tree.run, tree.layer, tree.head, tree.direction
union all
select
    pattern.run,
    pattern.layer,
    pattern.head,
    null as direction,
    pattern.weight as value,
    pattern.weight_low as low,
    pattern.weight_high as high,
    pattern.weight_chance as baseline,
    pattern.n
from pattern_score(
    runs := case when $measure in ('previous_token', 'duplicate_token', 'induction') then $runs else [] end,
    pattern := $measure, exclude_bos := false, exclude_current_token := false
) as pattern
union all
select
    cluster_entropy.run,
    cluster_entropy.layer,
    cluster_entropy.head,
    null as direction,
    sum(cluster_entropy.entropy) / sum(cluster_entropy.inputs) as value,
    sum(cluster_entropy.entropy) / sum(cluster_entropy.inputs)
    - clustered_margin(cluster_entropy.entropy, cluster_entropy.inputs) as low,
    sum(cluster_entropy.entropy) / sum(cluster_entropy.inputs)
    + clustered_margin(cluster_entropy.entropy, cluster_entropy.inputs) as high,
    sum(cluster_entropy.uniform) / sum(cluster_entropy.inputs) as baseline,
    cast(sum(cluster_entropy.inputs) as bigint) as n
from (
    select
        sequence.run,
        attention_map.layer,
        attention_map.head,
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
    inner join run_causality() as causality on causality.run = sequence.run
    inner join corpus_document(runs := $runs) as clustered_document
        on clustered_document.run = sequence.run
        and clustered_document.document = sequence.document
    inner join attention_map on attention_map.sequence = sequence.id
    where $measure = 'entropy'
        and list_contains($runs, sequence.run)
    group by
        sequence.run, attention_map.layer, attention_map.head,
        input_cluster(clustered_document.by_sentences, sequence.id, sequence.document)
) as cluster_entropy
group by cluster_entropy.run, cluster_entropy.layer, cluster_entropy.head
