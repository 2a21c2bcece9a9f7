-- title: The best head for each kind of mention, compared with rule baselines (the paper's table 2)
-- paper: Clark et al. 2019, section 4.3, table 2
-- grain: one row per kind: all, pronoun, proper and nominal
-- formula: head*(k) = argmax_h |{m ∈ M(k) : prediction_h(m) ∈ A(m)}|, as in coreference_accuracy
-- formula: accuracy(k) = |{m ∈ M(k) : prediction_{head*(k)}(m) ∈ A(m)}| / |M(k)|
-- formula: low, high as in best_head, by documents
-- formula: gain = accuracy − that of the rule that finds most; gain_low, gain_high as in head_score
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- plot: bars x=accuracy y=kind low=low high=high beside=nearest,head_match,rule_based,held_out_accuracy
--   label=layer,head aside=n domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: the head is chosen on the mentions that it is scored on, as in the paper, so that accuracy, gain and their
--   intervals are too high for it; held_out_accuracy is not, and best_coreference_head_held_out tests the head against
--   the rules. Of equal heads the lowest layer, then the lowest head.
-- note: all inputs of a document are scored; the paper scores only its first 128 tokens (ingest --truncate).
-- param kind, candidates, singletons
-- column kind, n, layer, head, accuracy, low, high, nearest, head_match, rule_based
-- column gain double: accuracy minus that of the rule that finds most: nearest, head_match or rule_based
-- column gain_low, gain_high
-- column held_out_accuracy double: accuracy on every second document (or input) of the head that is best on the others
-- column run
with hit as materialized (
    select cluster_hit.*
    from coreference_hit(candidates := $candidates, singletons := $singletons, run := $run) as cluster_hit
    where $kind is null
        or kind = $kind
),

best as (
    select
        kind, layer, head,
        cast(sum(n) as bigint) as n,
        ratio(sum(correct), sum(n)) as accuracy,
        clustered_n(correct, n) as effective,
        cast(sum(only_head) as bigint) as only_head,
        cast(sum(only_rule) as bigint) as only_rule,
        clustered_pairs(only_head, only_rule, n) as effective_pairs
    from hit
    group by kind, layer, head
    qualify row_number() over (partition by kind order by sum(correct) desc, layer, head) = 1
),

half_hit as (
    select
        kind, is_chosen_on, layer, head,
        ratio(sum(correct), sum(n)) as accuracy,
        row_number() over (partition by kind, is_chosen_on order by sum(correct) desc, layer, head) as place
    from hit
    group by kind, is_chosen_on, layer, head
),

-- The head that is best on one half, scored on the other.
held_out as (
    select scored.kind, scored.accuracy
    from half_hit as selected
    inner join half_hit as scored using (kind, layer, head)
    where selected.is_chosen_on
        and selected.place = 1
        and not scored.is_chosen_on
),

rule as (
    select
        kind,
        max(case when baseline = 'nearest' then accuracy end) as nearest,
        max(case when baseline = 'head_match' then accuracy end) as head_match,
        max(case when baseline = 'rule_based' then accuracy end) as rule_based
    from coreference_baseline(kind := $kind, singletons := $singletons, run := $run) as baseline
    group by all
)

select
    best.kind, best.n, best.layer, best.head, best.accuracy,
    wilson_low(best.accuracy * best.effective, best.effective) as low,
    wilson_high(best.accuracy * best.effective, best.effective) as high,
    rule.nearest, rule.head_match, rule.rule_based,
    ratio(best.only_head - best.only_rule, best.n) as gain,
    paired_low(best.only_head, best.only_rule, best.n, best.effective_pairs) as gain_low,
    paired_high(best.only_head, best.only_rule, best.n, best.effective_pairs) as gain_high,
    held_out.accuracy as held_out_accuracy,
    (select name from chosen_run) as run
from best
inner join rule using (kind)
left join held_out using (kind)
order by kind_place(best.kind)
