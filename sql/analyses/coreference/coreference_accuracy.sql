-- title: How often each head finds an antecedent: the mention's head word attends most to the head of one
-- paper: Clark et al. 2019, section 4.3
-- grain: one row per (layer, head, kind)
-- formula: accuracy_h(k) = |{m ∈ M(k) : prediction_h(m) ∈ A(m)}| / |M(k)|
-- formula: prediction_h(m) = argmax_{c ∈ C(m)} α(w(m), c), where w(m) is the position of the mention's head word,
--   A(m) are those of its antecedents and C(m) those of its candidates
-- formula: M(k) are the mentions of kind k (all: of any kind) that have an antecedent in their input
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- plot: grid color=accuracy panel=kind domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: of the mentions with an antecedent (same entity, earlier start) in the same input. The paper does not say what
--   the candidates are: mentions takes the head words of the mentions that start earlier, words every other word.
-- note: whole documents as inputs (--context document) are the default; a run of single sentences can be named, and
--   then judges the few mentions whose antecedent stands in the same sentence.
-- note: the paper cuts each document to its first 128 tokens, and judges one input per document; here every input of a
--   document is judged. A run that was ingested with --truncate has only the first one.
-- param kind varchar = null {all, pronoun, proper, nominal}: the kind of the mention; by default every one
-- param candidates varchar = 'mentions' {mentions, words}: heads of earlier mentions, or all other words
-- param singletons boolean = true: keep candidates whose entity has one mention only in the document; CoNLL-2012 marks none
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over documents
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
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
        needs := 'mentions', equipped := runs_with_mentions(), usual := 'document',
        reads_weights := $candidates = 'mentions'
    ) as chosen
),

hit as (
    select
        prediction.layer,
        prediction.head,
        prediction.kind,
        count(*) filter (where prediction.is_right) as correct,
        count(*) as n
    from coreference_prediction(candidates := $candidates, singletons := $singletons, run := $run) as prediction
    group by prediction.layer, prediction.head, prediction.kind
),

per_kind as (
    select hit.layer, hit.head, hit.kind, hit.correct, hit.n
    from hit
    union all
    select
        hit.layer,
        hit.head,
        'all' as kind,
        cast(sum(hit.correct) as bigint) as correct,
        cast(sum(hit.n) as bigint) as n
    from hit
    group by hit.layer, hit.head
)

select
    per_kind.layer,
    per_kind.head,
    per_kind.kind,
    cast(per_kind.correct as double) / cast(per_kind.n as double) as accuracy,
    per_kind.correct,
    per_kind.n,
    (select chosen_run.name from chosen_run) as run
from per_kind
where $kind is null or per_kind.kind = $kind
order by
    per_kind.layer,
    per_kind.head,
    case per_kind.kind when 'all' then 1 when 'pronoun' then 2 when 'proper' then 3 else 4 end
