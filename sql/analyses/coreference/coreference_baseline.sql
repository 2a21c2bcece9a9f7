-- title: How often rule baselines find an antecedent, on the same mentions as the heads
-- paper: Clark et al. 2019, section 4.3, table 2
-- grain: one row per (baseline, kind)
-- formula: accuracy_b(k) = |{m ∈ M(k) : the mention that b takes for m has its head word in A(m)}| / |M(k)|
-- formula: M(k) are the mentions of kind k (all: of any kind) that have an antecedent in their input, and A(m) the
--   positions of the head words of its antecedents
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- plot: bars x=accuracy y=baseline panel=kind aside=n domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: nearest takes the nearest earlier mention; head_match the nearest one with the same head word, and is wrong
--   where there is none; rule_based the nearest one of the first sieve that lets any through: the same text, the same
--   head word, agreement in number, gender and person, any. Judged as the heads are, by the head word of what is taken.
-- note: all inputs of a document are scored; the paper scores only its first 128 tokens (ingest --truncate).
-- param kind, singletons
-- column baseline, kind, accuracy, correct, n, run
with per_kind as (
    select baseline, coalesce(kind, 'all') as kind, count(*) filter (where is_right) as correct, count(*) as n
    from coreference_baseline_prediction(singletons := $singletons, run := $run) as prediction
    group by grouping sets ((baseline, kind), (baseline))
)

select baseline, kind, ratio(correct, n) as accuracy, correct, n, (select name from chosen_run) as run
from per_kind
where $kind is null or kind = $kind
order by baseline_place(baseline), kind_place(kind)
