-- title: How often each head of a run, and a rule baseline, finds an antecedent in each cluster
-- grain: one row per (kind, cluster, layer, head)
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- param candidates, singletons
-- param choose varchar = 'half' {half, train}: the part that heads are chosen on. half: every second document, or every
--   second input if the source marks no documents or the run has only one; train: documents whose split is train
-- column kind
-- column cluster bigint: the unit of intervals: the document, or the input if the source marks no documents or the run
--   has only one (see input_cluster)
-- column is_chosen_on, layer, head, correct, n
-- column only_head bigint: mentions of which the head finds an antecedent and the rule does not
-- column only_rule bigint: mentions of which the rule finds one and the head does not
-- column rule varchar: the most accurate of the rules on all mentions of the kind: nearest, head_match or rule_based
-- column rule_correct bigint: mentions of which the rule finds an antecedent
with rule_prediction as (
    select sequence, mention, kind, baseline, is_right
    from coreference_baseline_prediction(singletons := $singletons, run := $run) as prediction
),

rule_count as (
    select coalesce(kind, 'all') as kind, baseline, count(*) filter (where is_right) as correct
    from rule_prediction
    group by grouping sets ((kind, baseline), (baseline))
),

best_rule as (
    select kind, baseline
    from rule_count
    qualify row_number() over (partition by kind order by correct desc, baseline_place(baseline)) = 1
),

-- With half, every second document, or input, is one to choose heads on.
clustered_input as (
    select
        mention_input.sequence,
        input_cluster(clustered_document.by_sentences, mention_input.sequence, mention_input.document) as cluster,
        case
            when $choose = 'train' then coalesce(document.split, '') = 'train'
            when clustered_document.by_sentences then dense_rank() over (order by mention_input.sequence) % 2 = 1
            else clustered_document.clusters_before % 2 = 0
        end as is_chosen_on
    from (
        select distinct document, sequence
        from coreference_mention(singletons := $singletons, run := $run) as mention
    ) as mention_input
    inner join document on document.id = mention_input.document
    inner join corpus_document(runs := (select list(id) from chosen_run)) as clustered_document using (document)
)

-- A mention counts in its kind and in all, compared with the best rule of each.
select
    best_rule.kind, clustered_input.cluster, clustered_input.is_chosen_on, prediction.layer, prediction.head,
    count(*) filter (where prediction.is_right) as correct,
    count(*) as n,
    count(*) filter (where prediction.is_right and not by_rule.is_right) as only_head,
    count(*) filter (where by_rule.is_right and not prediction.is_right) as only_rule,
    best_rule.baseline as rule,
    count(*) filter (where by_rule.is_right) as rule_correct
from coreference_prediction(candidates := $candidates, singletons := $singletons, run := $run) as prediction
inner join clustered_input using (sequence)
inner join best_rule
    on best_rule.kind = prediction.kind
    or best_rule.kind = 'all'
inner join rule_prediction as by_rule using (sequence, mention, baseline)
group by all
