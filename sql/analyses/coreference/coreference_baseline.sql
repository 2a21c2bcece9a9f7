-- title: How often simple rules find an antecedent, of the same mentions as the heads
-- paper: Clark et al. 2019, section 4.3, table 2
-- grain: one row per (baseline, kind)
-- formula: accuracy_b(k) = |{m ∈ M(k) : the mention that b takes for m has its head word in A(m)}| / |M(k)|
-- formula: M(k) are the mentions of kind k (all: of any kind) that have an antecedent in their input, and A(m) the
--   positions of the head words of its antecedents
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- plot: bars x=accuracy y=baseline panel=kind domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: nearest takes the nearest earlier mention; head_match the nearest one with the same head word, and is wrong
--   where there is none; rule_based the nearest one of the first sieve that lets any through: the same text, the same
--   head word, agreement in number, gender and person, any. Judged as the heads are, by the head word of what is taken.
-- note: the paper cuts each document to its first 128 tokens, and judges one input per document; here every input of a
--   document is judged. A run that was ingested with --truncate has only the first one.
-- param kind varchar = null {all, pronoun, proper, nominal}: the kind of the mention; by default every one
-- param singletons boolean = true: keep candidates whose entity has one mention only in the document; CoNLL-2012 marks none
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over documents
-- column baseline varchar: nearest, head_match or rule_based
-- column kind varchar: all, pronoun, proper or nominal
-- column accuracy double: share of the mentions whose antecedent it finds, in [0, 1]
-- column correct bigint: mentions whose antecedent it finds
-- column n bigint: mentions with an antecedent in their input
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', contexts := ['document', 'sentence'],
        needs := 'mentions', equipped := runs_with_mentions(), usual := 'document'
    ) as chosen
),

hit as (
    select
        prediction.baseline,
        prediction.kind,
        count(*) filter (where prediction.is_right) as correct,
        count(*) as n
    from coreference_baseline_prediction(singletons := $singletons, run := $run) as prediction
    group by prediction.baseline, prediction.kind
),

per_kind as (
    select hit.baseline, hit.kind, hit.correct, hit.n
    from hit
    union all
    select
        hit.baseline,
        'all' as kind,
        cast(sum(hit.correct) as bigint) as correct,
        cast(sum(hit.n) as bigint) as n
    from hit
    group by hit.baseline
)

select
    per_kind.baseline,
    per_kind.kind,
    cast(per_kind.correct as double) / cast(per_kind.n as double) as accuracy,
    per_kind.correct,
    per_kind.n,
    (select chosen_run.name from chosen_run) as run
from per_kind
where $kind is null or per_kind.kind = $kind
order by
    case per_kind.baseline when 'nearest' then 1 when 'head_match' then 2 else 3 end,
    case per_kind.kind when 'all' then 1 when 'pronoun' then 2 when 'proper' then 3 else 4 end
