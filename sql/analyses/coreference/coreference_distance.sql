-- title: Accuracy of the best head and the rule baselines by the distance to the nearest antecedent
-- paper: beside Clark et al. 2019, section 4.3
-- grain: one row per range of distances, the shortest first
-- formula: distance(m) = |w(m) − w(a)|, where a is the nearest antecedent of m and w the position of a head word
-- formula: accuracy(r) = |{m : distance(m) ∈ r, prediction(m) ∈ A(m)}| / |{m : distance(m) ∈ r}| for each range r, with
--   prediction and A(m) as in coreference_accuracy
-- formula: low, high as in best_head, by documents
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- plot: lines x=shortest,longest y=accuracy,nearest,head_match,rule_based low=low high=high domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: distance is counted in words, between the head words. The head is the best of all distances together, or of
--   those that layer and head leave (layer := 5, head := 4 for head 5-4).
-- param kind varchar = 'all' {all, pronoun, proper, nominal}: the kind of the mention
-- param layer smallint = null: choose among the heads of this layer
-- param head smallint = null: choose among the heads of this number
-- param bounds integer[] = [1, 6, 11, 21, 41]: where the ranges begin
-- param candidates, singletons
-- column shortest integer: distance to the nearest antecedent in words: the shortest of the range
-- column longest integer: the longest one; null where the range has no end
-- column n bigint: mentions whose nearest antecedent is that far away
-- column layer, head
-- column accuracy double: share of those mentions whose antecedent the head finds, in [0, 1]
-- column low, high, nearest, head_match, rule_based, run

-- Null for the end of the last range.
with distance_range as (
    select shortest, lead(shortest) over (order by shortest) - 1 as longest
    from (select distinct shortest from (select unnest($bounds) as shortest) as bound) as lower_bound
),

mention_in_range as (
    select
        mention.sequence, mention.mention,
        input_cluster(clustered_document.by_sentences, mention.sequence, mention.document) as cluster,
        distance_range.shortest, distance_range.longest
    from coreference_mention(singletons := $singletons, run := $run) as mention
    inner join corpus_document(runs := (select list(id) from chosen_run)) as clustered_document using (document)
    inner join distance_range
        on mention.word_distance >= distance_range.shortest
        and mention.word_distance <= coalesce(distance_range.longest, mention.word_distance)
    where $kind = 'all' or mention.kind = $kind
),

per_cluster as (
    select
        mention_in_range.shortest, mention_in_range.longest, mention_in_range.cluster, prediction.layer,
        prediction.head,
        count(*) filter (where prediction.is_right) as correct,
        count(*) as n
    from mention_in_range
    inner join coreference_prediction(
        candidates := $candidates, layer := $layer, head := $head, singletons := $singletons, run := $run
    ) as prediction using (sequence, mention)
    group by all
),

per_range as (
    select
        shortest, longest, layer, head,
        cast(sum(correct) as bigint) as correct,
        cast(sum(n) as bigint) as n,
        ratio(sum(correct), sum(n)) as accuracy,
        clustered_n(correct, n) as effective
    from per_cluster
    group by all
),

best as (
    select layer, head
    from per_range
    group by all
    order by sum(correct) desc, layer, head
    limit 1
),

rule as (
    select
        mention_in_range.shortest,
        share_of(case when prediction.baseline = 'nearest' then prediction.is_right end) as nearest,
        share_of(case when prediction.baseline = 'head_match' then prediction.is_right end) as head_match,
        share_of(case when prediction.baseline = 'rule_based' then prediction.is_right end) as rule_based
    from mention_in_range
    inner join coreference_baseline_prediction(singletons := $singletons, run := $run) as prediction
        using (sequence, mention)
    group by all
)

select
    per_range.shortest, per_range.longest, per_range.n, per_range.layer, per_range.head, per_range.accuracy,
    wilson_low(per_range.accuracy * per_range.effective, per_range.effective) as low,
    wilson_high(per_range.accuracy * per_range.effective, per_range.effective) as high,
    rule.nearest, rule.head_match, rule.rule_based,
    (select name from chosen_run) as run
from per_range
inner join best using (layer, head)
inner join rule using (shortest)
order by per_range.shortest
