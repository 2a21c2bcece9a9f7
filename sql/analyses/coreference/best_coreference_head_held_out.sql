-- title: The best head for each kind of mention, chosen on one half of the documents and scored on the other
-- paper: beside Clark et al. 2019, section 4.3, which picks and scores on the same mentions
-- grain: one row per kind: all, pronoun, proper and nominal
-- formula: head*(k) = argmax_h accuracy_h(k) over the mentions that the head is chosen on
-- formula: accuracy(k) = accuracy_{head*(k)}(k) over the mentions that it is scored on
-- formula: optimism(k) = max_h accuracy_h(k) − accuracy_{head*(k)}(k), both over the mentions that it is scored on
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is accuracy and z = 1.96
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- plot: bars x=accuracy y=kind low=low high=high beside=in_sample_accuracy label=layer,head domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: halves are every second document, or every second input where the corpus is one document. With
--   choose := 'train' the head is chosen on the documents whose split is train and scored on all others.
-- note: optimism is what picking on the scored mentions themselves adds: in_sample_accuracy minus accuracy, never negative.
-- note: the paper cuts each document to its first 128 tokens, and judges one input per document; here every input of a
--   document is judged. A run that was ingested with --truncate has only the first one.
-- param kind varchar = null {all, pronoun, proper, nominal}: the kind of the mention; by default every one
-- param candidates varchar = 'mentions' {mentions, words}: heads of earlier mentions, or all other words
-- param choose varchar = 'half' {half, train}: every second document, or the documents of the training split
-- param singletons boolean = true: keep candidates whose entity has one mention only in the document; CoNLL-2012 marks none
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over documents
-- column kind varchar: all, pronoun, proper or nominal
-- column n bigint: mentions that the head is scored on
-- column layer smallint: 1-based layer of the head that was chosen
-- column head smallint: 1-based number of that head in its layer
-- column accuracy double: share of the scored mentions whose antecedent it finds, in [0, 1]
-- column low double: lower end of the 95 % Wilson interval of accuracy
-- column high double: upper end of the 95 % Wilson interval of accuracy
-- column chosen_n bigint: mentions that the head was chosen on
-- column chosen_accuracy double: its accuracy on those
-- column in_sample_accuracy double: the best accuracy of any head on the scored mentions, as the paper would report
-- column optimism double: in_sample_accuracy minus accuracy
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

prediction as (
    select found.document, found.sequence, found.kind, found.layer, found.head, found.is_right
    from coreference_prediction(candidates := $candidates, singletons := $singletons, run := $run) as found
),

numbered as (
    select
        judged.document,
        judged.sequence,
        dense_rank() over (order by judged.document) as document_place,
        dense_rank() over (order by judged.sequence) as input_place
    from (select distinct prediction.document, prediction.sequence from prediction) as judged
),

extent as (
    select max(numbered.document_place) as documents
    from numbered
),

half as (
    select
        numbered.document,
        numbered.sequence,
        case
            when $choose = 'train' then coalesce(document.split, '') = 'train'
            when extent.documents > 1 then numbered.document_place % 2 = 1
            else numbered.input_place % 2 = 1
        end as is_chosen_on
    from numbered
    inner join document on document.id = numbered.document
    cross join extent
),

hit as (
    select
        prediction.kind,
        half.is_chosen_on,
        prediction.layer,
        prediction.head,
        count(*) filter (where prediction.is_right) as correct,
        count(*) as n
    from prediction
    inner join half
        on half.document = prediction.document
        and half.sequence = prediction.sequence
    group by prediction.kind, half.is_chosen_on, prediction.layer, prediction.head
),

per_kind as (
    select hit.kind, hit.is_chosen_on, hit.layer, hit.head, hit.correct, hit.n
    from hit
    union all
    select
        'all' as kind,
        hit.is_chosen_on,
        hit.layer,
        hit.head,
        cast(sum(hit.correct) as bigint) as correct,
        cast(sum(hit.n) as bigint) as n
    from hit
    group by hit.is_chosen_on, hit.layer, hit.head
),

ranked as (
    select
        per_kind.kind,
        per_kind.is_chosen_on,
        per_kind.layer,
        per_kind.head,
        per_kind.correct,
        per_kind.n,
        cast(per_kind.correct as double) / cast(per_kind.n as double) as accuracy,
        row_number() over (
            partition by per_kind.kind, per_kind.is_chosen_on
            order by per_kind.correct desc, per_kind.layer, per_kind.head
        ) as place
    from per_kind
),

scored as (
    select
        chosen.kind,
        held_out.n,
        chosen.layer,
        chosen.head,
        held_out.correct,
        held_out.accuracy,
        chosen.n as chosen_n,
        chosen.accuracy as chosen_accuracy,
        in_sample.accuracy as in_sample_accuracy
    from ranked as chosen
    inner join ranked as held_out
        on held_out.kind = chosen.kind
        and held_out.layer = chosen.layer
        and held_out.head = chosen.head
    inner join ranked as in_sample
        on in_sample.kind = chosen.kind
    where chosen.is_chosen_on
        and chosen.place = 1
        and not held_out.is_chosen_on
        and not in_sample.is_chosen_on
        and in_sample.place = 1
)

select
    scored.kind,
    scored.n,
    scored.layer,
    scored.head,
    scored.accuracy,
    wilson_low(scored.correct, scored.n) as low,
    wilson_high(scored.correct, scored.n) as high,
    scored.chosen_n,
    scored.chosen_accuracy,
    scored.in_sample_accuracy,
    scored.in_sample_accuracy - scored.accuracy as optimism,
    (select chosen_run.name from chosen_run) as run
from scored
where $kind is null or scored.kind = $kind
order by case scored.kind when 'all' then 1 when 'pronoun' then 2 when 'proper' then 3 else 4 end
