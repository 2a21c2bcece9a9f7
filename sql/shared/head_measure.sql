-- title: One figure of each head of some runs, its interval, and what it is to be compared with
-- grain: one row per (run, layer, head, direction)
-- param runs
-- param measure varchar = 'accuracy' {accuracy, uuas, previous_token, duplicate_token, induction, entropy}: which
--   figure
-- param relation varchar = null: of accuracy the relation; null for all dependents
-- column run integer: run.id of the run
-- column layer, head
-- column direction varchar: of accuracy and uuas the direction that is judged; else null
-- column value double: accuracy, uuas of the decoded trees, mean weight, or entropy in nats
-- column low double: lower end of its 95 % interval, by documents; null where all are in one
-- column high double: upper end of its 95 % interval
-- column baseline double: of accuracy that of the best fixed offset, of uuas that of adjacent words; else what even
--   attention gives
-- column n bigint: dependents, positions, or inputs that it is over
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
    scored.run,
    scored.layer,
    scored.head,
    null as direction,
    scored.weight as value,
    scored.weight_low as low,
    scored.weight_high as high,
    scored.weight_chance as baseline,
    scored.n
from pattern_score(
    runs := case when $measure in ('previous_token', 'duplicate_token', 'induction') then $runs else [] end,
    pattern := $measure, exclude_bos := false, exclude_current_token := false
) as scored
union all
select
    each.run,
    each.layer,
    each.head,
    null as direction,
    sum(each.entropy) / sum(each.inputs) as value,
    sum(each.entropy) / sum(each.inputs) - clustered_margin(each.entropy, each.inputs) as low,
    sum(each.entropy) / sum(each.inputs) + clustered_margin(each.entropy, each.inputs) as high,
    sum(each.uniform) / sum(each.inputs) as baseline,
    cast(sum(each.inputs) as bigint) as n
from (
    select
        sequence.run,
        attention_map.layer,
        attention_map.head,
        input_cluster(placed.by_sentences, sequence.id, sequence.document) as cluster,
        sum(attention_map.entropy) as entropy,
        sum(
            case
                when sight.is_causal then log_factorial(sequence.positions) / sequence.positions
                else ln(cast(sequence.positions as double))
            end
        ) as uniform,
        count(*) as inputs
    from sequence
    inner join run_sight() as sight on sight.run = sequence.run
    inner join corpus_document(runs := $runs) as placed
        on placed.run = sequence.run
        and placed.document = sequence.document
    inner join attention_map on attention_map.sequence = sequence.id
    where $measure = 'entropy'
        and list_contains($runs, sequence.run)
    group by
        sequence.run, attention_map.layer, attention_map.head,
        input_cluster(placed.by_sentences, sequence.id, sequence.document)
) as each
group by each.run, each.layer, each.head
