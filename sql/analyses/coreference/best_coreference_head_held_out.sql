-- title: The best head for each kind of mention, chosen on one half of the documents and scored on the other
-- paper: beside Clark et al. 2019, section 4.3, which picks and scores on the same mentions
-- grain: one row per kind: all, pronoun, proper and nominal
-- formula: head*(k) = argmax_h accuracy_h(k) over the mentions that the head is chosen on
-- formula: accuracy(k) = accuracy_{head*(k)}(k) over the mentions that it is scored on
-- formula: optimism(k) = max_h accuracy_h(k) − accuracy_{head*(k)}(k), both over the mentions that it is scored on
-- formula: low, high as in best_head, by documents
-- formula: gain = accuracy − rule_accuracy, on the scored mentions; gain_low, gain_high and p_value as in head_score
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- plot: bars x=accuracy y=kind low=low high=high beside=rule_accuracy,in_sample_accuracy label=layer,head aside=n
--   domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: halves are every second document, or every second input if the source marks no documents or the run has one.
-- param kind, candidates
-- param choose varchar = 'half' {half, train}: chosen on a half, or on documents whose split is train, scored on others
-- param singletons
-- column kind, n, layer, head, accuracy, low, high
-- column chosen_n bigint: mentions that the head was chosen on
-- column chosen_accuracy double: its accuracy on those
-- column in_sample_accuracy double: the best accuracy of any head on the scored mentions, as the paper would report
-- column optimism
-- column rule varchar: the rule that finds most of the mentions of the kind: nearest, head_match or rule_based
-- column rule_accuracy double: its share of the scored mentions, in [0, 1]
-- column gain double: accuracy minus rule_accuracy
-- column gain_low, gain_high
-- column clusters bigint: documents (inputs, if the source marks no documents or the run has only one) they are in
-- column p_value, run
with hit as materialized (
    select cluster_hit.*
    from coreference_hit(
        candidates := $candidates, singletons := $singletons, run := $run, choose := $choose
    ) as cluster_hit
    where $kind is null
        or kind = $kind
),

ranked_head as (
    select
        kind, is_chosen_on, layer, head, rule,
        cast(sum(n) as bigint) as n,
        count(*) as clusters,
        ratio(sum(correct), sum(n)) as accuracy,
        clustered_n(correct, n) as effective,
        ratio(sum(rule_correct), sum(n)) as rule_accuracy,
        sum(only_head) as only_head,
        sum(only_rule) as only_rule,
        clustered_pairs(only_head, only_rule, n) as effective_pairs,
        list_sort(list(only_head - only_rule)) as differences,
        row_number() over (partition by kind, is_chosen_on order by sum(correct) desc, layer, head) as place
    from hit
    group by kind, is_chosen_on, layer, head, rule
)

select
    selected.kind, scored.n, selected.layer, selected.head, scored.accuracy,
    wilson_low(scored.accuracy * scored.effective, scored.effective) as low,
    wilson_high(scored.accuracy * scored.effective, scored.effective) as high,
    selected.n as chosen_n,
    selected.accuracy as chosen_accuracy,
    in_sample.accuracy as in_sample_accuracy,
    in_sample.accuracy - scored.accuracy as optimism,
    scored.rule, scored.rule_accuracy,
    ratio(scored.only_head - scored.only_rule, scored.n) as gain,
    paired_low(scored.only_head, scored.only_rule, scored.n, scored.effective_pairs) as gain_low,
    paired_high(scored.only_head, scored.only_rule, scored.n, scored.effective_pairs) as gain_high,
    scored.clusters,
    -- With fewer clusters even the smallest p value, 1/2ⁿ, is above 0.05.
    case when scored.clusters >= 5 then sign_flips(scored.differences) end as p_value,
    (select name from chosen_run) as run
from ranked_head as selected
inner join ranked_head as scored using (kind, layer, head)
inner join ranked_head as in_sample using (kind)
where selected.is_chosen_on
    and selected.place = 1
    and not scored.is_chosen_on
    and not in_sample.is_chosen_on
    and in_sample.place = 1
order by kind_place(selected.kind)
