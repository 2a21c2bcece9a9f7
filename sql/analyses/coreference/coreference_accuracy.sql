-- title: How often each head finds an antecedent: a mention's head word attends most to that of an antecedent
-- paper: Clark et al. 2019, section 4.3
-- grain: one row per (layer, head, kind)
-- formula: accuracy_h(k) = |{m ∈ M(k) : prediction_h(m) ∈ A(m)}| / |M(k)|
-- formula: prediction_h(m) = argmax_{c ∈ C(m)} α(w(m), c), where w(m) is the position of the mention's head word, A(m)
--   are those of its antecedents and C(m) those of its candidates
-- formula: M(k) are the mentions of kind k (all: of any kind) that have an antecedent in their input
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- plot: grid color=accuracy panel=kind domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: of the mentions with an antecedent (same entity, earlier start) in the same input. The paper does not say what
--   the candidates are: mentions takes the head words of the mentions that start earlier, words every other word.
-- note: whole documents as inputs (--context document) are the default; if a run of single sentences is named, only the
--   few mentions whose antecedent is in the same sentence are scored.
-- note: all inputs of a document are scored; the paper scores only its first 128 tokens (ingest --truncate).
-- param kind, candidates, singletons
-- column layer, head, kind, accuracy, correct, n, run
with per_kind as (
    select layer, head, coalesce(kind, 'all') as kind, count(*) filter (where is_right) as correct, count(*) as n
    from coreference_prediction(candidates := $candidates, singletons := $singletons, run := $run) as prediction
    group by grouping sets ((layer, head, kind), (layer, head))
)

select layer, head, kind, ratio(correct, n) as accuracy, correct, n, (select name from chosen_run) as run
from per_kind
where $kind is null or kind = $kind
order by layer, head, kind_place(kind)
