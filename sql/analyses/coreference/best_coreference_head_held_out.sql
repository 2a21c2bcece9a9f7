-- title: The best head for each kind of mention, chosen on one half of the documents and scored on the other
-- paper: beside Clark et al. 2019, section 4.3, which picks and scores on the same mentions
-- grain: one row per kind: all, pronoun, proper and nominal
-- formula: head*(k) = argmax_h accuracy_h(k) over the mentions that the head is chosen on
-- formula: accuracy(k) = accuracy_{head*(k)}(k) over the mentions that it is scored on
-- formula: optimism(k) = max_h accuracy_h(k) − accuracy_{head*(k)}(k), both over the mentions that it is scored on
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is accuracy and z = 1.96
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- plot: bars x=accuracy y=kind low=low high=high beside=in_sample_accuracy label=layer,head aside=n domain=0,1
-- empty: no mention of the run has an antecedent in its own input
-- note: halves are every second document of the corpus, or every second input where the source marks none or the run
--   reads one. With choose := 'train' the head is chosen on the documents whose split is train and scored on all
--   others.
-- note: optimism is what picking on the scored mentions themselves adds: in_sample_accuracy minus accuracy, never
--   negative.
-- note: every input of a document is judged; the paper judges only its first 128 tokens (ingest --truncate).
-- param kind, candidates
-- param choose varchar = 'half' {half, train}: every second document, or the documents of the training split
-- param singletons
-- column kind, n, layer, head, accuracy, low, high
-- column chosen_n bigint: mentions that the head was chosen on
-- column chosen_accuracy double: its accuracy on those
-- column in_sample_accuracy double: the best accuracy of any head on the scored mentions, as the paper would report
-- column optimism, run
with

prediction as (
    select found.*
    from coreference_prediction(candidates := $candidates, singletons := $singletons, run := $run) as found
),

half as (
    select
        judged.sequence,
        case
            when $choose = 'train' then coalesce(document.split, '') = 'train'
            when placed.by_sentences then dense_rank() over (order by judged.sequence) % 2 = 1
            else placed.clusters_before % 2 = 0
        end as is_chosen_on
    from (select distinct prediction.document, prediction.sequence from prediction) as judged
    inner join document on document.id = judged.document
    inner join corpus_document(runs := (select list(chosen_run.id) from chosen_run)) as placed
        on placed.document = judged.document
),

per_kind as (
    select
        coalesce(prediction.kind, 'all') as kind,
        half.is_chosen_on,
        prediction.layer,
        prediction.head,
        count(*) filter (where prediction.is_right) as correct,
        count(*) as n
    from prediction
    inner join half on half.sequence = prediction.sequence
    group by
        grouping sets (
            (half.is_chosen_on, prediction.layer, prediction.head, prediction.kind),
            (half.is_chosen_on, prediction.layer, prediction.head)
        )
),

ranked as (
    select
        per_kind.*,
        ratio(per_kind.correct, per_kind.n) as accuracy,
        row_number() over (
            partition by per_kind.kind, per_kind.is_chosen_on
            order by per_kind.correct desc, per_kind.layer, per_kind.head
        ) as place
    from per_kind
)

select
    chosen.kind,
    scored.n,
    chosen.layer,
    chosen.head,
    scored.accuracy,
    wilson_low(scored.correct, scored.n) as low,
    wilson_high(scored.correct, scored.n) as high,
    chosen.n as chosen_n,
    chosen.accuracy as chosen_accuracy,
    in_sample.accuracy as in_sample_accuracy,
    in_sample.accuracy - scored.accuracy as optimism,
    (select chosen_run.name from chosen_run) as run
from ranked as chosen
inner join ranked as scored
    on scored.kind = chosen.kind
    and scored.layer = chosen.layer
    and scored.head = chosen.head
inner join ranked as in_sample on in_sample.kind = chosen.kind
where chosen.is_chosen_on
    and chosen.place = 1
    and not scored.is_chosen_on
    and not in_sample.is_chosen_on
    and in_sample.place = 1
    and ($kind is null or chosen.kind = $kind)
order by kind_place(chosen.kind)
