-- title: How often each head of a run finds an antecedent in each cluster, and how often a simple rule does
-- grain: one row per (kind, cluster, layer, head)
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- param candidates, singletons
-- param choose varchar = 'half' {half, train}: the part that heads are chosen on. half: every second document of the
--   corpus, or every second input if the source marks none or the run reads one; train: the documents whose split is train
-- column kind
-- column cluster bigint: what intervals go by: the document, or the input where the source marks none or the run reads
--   one (see input_cluster)
-- column is_chosen_on boolean: whether the part is the one to choose heads on
-- column layer, head, correct, n
-- column only_head bigint: mentions of which the head finds an antecedent and the rule does not
-- column only_rule bigint: mentions of which the rule finds one and the head does not
-- column rule varchar: the most accurate of the rules on all mentions of the kind: nearest, head_match or rule_based
-- column rule_correct bigint: mentions of which the rule finds an antecedent
with

ruled as (
    select
        found.sequence,
        found.mention,
        found.kind,
        found.baseline,
        case when found.is_right then 1 else 0 end as by_rule
    from coreference_baseline_prediction(singletons := $singletons, run := $run) as found
),

counted as (
    select coalesce(ruled.kind, 'all') as kind, ruled.baseline, sum(ruled.by_rule) as correct
    from ruled
    group by grouping sets ((ruled.kind, ruled.baseline), (ruled.baseline))
),

best_rule as (
    select counted.kind, counted.baseline
    from counted
    qualify row_number() over (
        partition by counted.kind order by counted.correct desc, baseline_place(counted.baseline)
    ) = 1
),

placed as (
    select
        judged.sequence,
        input_cluster(extent.by_sentences, judged.sequence, judged.document) as cluster,
        case
            when $choose = 'train' then coalesce(document.split, '') = 'train'
            when extent.by_sentences then dense_rank() over (order by judged.sequence) % 2 = 1
            else extent.clusters_before % 2 = 0
        end as is_chosen_on
    from (
        select distinct mention.document, mention.sequence
        from coreference_mention(singletons := $singletons, run := $run) as mention
    ) as judged
    inner join document on document.id = judged.document
    inner join corpus_document(runs := (select list(chosen_run.id) from chosen_run)) as extent
        on extent.document = judged.document
),

judged as (
    select
        best_rule.kind,
        best_rule.baseline,
        placed.cluster,
        placed.is_chosen_on,
        prediction.layer,
        prediction.head,
        case when prediction.is_right then 1 else 0 end as by_head,
        ruled.by_rule
    from coreference_prediction(candidates := $candidates, singletons := $singletons, run := $run) as prediction
    inner join placed on placed.sequence = prediction.sequence
    inner join best_rule
        on best_rule.kind = prediction.kind
        or best_rule.kind = 'all'
    inner join ruled
        on ruled.sequence = prediction.sequence
        and ruled.mention = prediction.mention
        and ruled.baseline = best_rule.baseline
)

select
    judged.kind,
    judged.cluster,
    judged.is_chosen_on,
    judged.layer,
    judged.head,
    cast(sum(judged.by_head) as bigint) as correct,
    count(*) as n,
    cast(sum(judged.by_head * (1 - judged.by_rule)) as bigint) as only_head,
    cast(sum(judged.by_rule * (1 - judged.by_head)) as bigint) as only_rule,
    judged.baseline as rule,
    cast(sum(judged.by_rule) as bigint) as rule_correct
from judged
group by judged.kind, judged.cluster, judged.is_chosen_on, judged.layer, judged.head, judged.baseline
