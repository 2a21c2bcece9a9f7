-- title: The best head for each kind of mention, beside the simple rules (the paper's table 2)
-- paper: Clark et al. 2019, section 4.3, table 2
-- grain: one row per kind: all, pronoun, proper and nominal
-- formula: head*(k) = argmax_h |{m ∈ M(k) : prediction_h(m) ∈ A(m)}|, as in coreference_accuracy
-- formula: accuracy(k) = |{m ∈ M(k) : prediction_{head*(k)}(m) ∈ A(m)}| / |M(k)|
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is accuracy and z = 1.96
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- plot: bars x=accuracy y=kind low=low high=high beside=nearest,head_match,rule_based label=layer,head aside=n domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: the head is picked on the very mentions that it is scored on, as in the paper;
--   best_coreference_head_held_out shows what that is worth. Equal heads: the lowest layer, then the lowest head.
-- note: every input of a document is judged; the paper judges only its first 128 tokens (ingest --truncate).
-- param kind, candidates, singletons
-- column kind, n, layer, head, accuracy, low, high, nearest, head_match, rule_based, run
with

best as (
    select scored.kind, scored.n, scored.layer, scored.head, scored.correct, scored.accuracy
    from coreference_accuracy(
        kind := $kind, candidates := $candidates, singletons := $singletons, run := $run
    ) as scored
    qualify row_number() over (
        partition by scored.kind
        order by scored.correct desc, scored.layer, scored.head
    ) = 1
),

rule as (
    select
        scored.kind,
        max(case when scored.baseline = 'nearest' then scored.accuracy end) as nearest,
        max(case when scored.baseline = 'head_match' then scored.accuracy end) as head_match,
        max(case when scored.baseline = 'rule_based' then scored.accuracy end) as rule_based
    from coreference_baseline(kind := $kind, singletons := $singletons, run := $run) as scored
    group by scored.kind
)

select
    best.kind,
    best.n,
    best.layer,
    best.head,
    best.accuracy,
    wilson_low(best.correct, best.n) as low,
    wilson_high(best.correct, best.n) as high,
    rule.nearest,
    rule.head_match,
    rule.rule_based,
    (select chosen_run.name from chosen_run) as run
from best
inner join rule on rule.kind = best.kind
order by kind_place(best.kind)
