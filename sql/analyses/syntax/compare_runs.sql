-- title: The best head for each relation in two runs, on the words of both
-- paper: beside Clark et al. 2019, section 4.2; two-sided sign flips, corrected by max-T (see head_score)
-- grain: one row per relation, the most frequent first
-- formula: difference = accuracy_a − accuracy_b, of each run's best head and direction on the same dependents
-- formula: difference_low, difference_high: 95 % of the paired difference, as gain_low and gain_high of head_score
-- formula: cohens_h = 2 arcsin √accuracy_a − 2 arcsin √accuracy_b
-- formula: p_value = min(1, 2 · the share of the signs s ∈ {−1, 1}ᴰ with Σ_d s_d x_d ≥ |Σ_d x_d|), where x_d = only_a −
--   only_b in cluster d of D (a document, or a sentence: see clustered_by)
-- formula: p_corrected = share of the signs with max_r |T_r(s)| ≥ |T_r(1)|, T as in head_score, where r are the
--   relations with 10 dependents or more, whichever are shown; all is not one, and its p_corrected is its p_value
-- plot: bars x=difference y=relation low=difference_low high=difference_high aside=n
-- empty: the corpus has no second finished run of words, or no relation has min_count dependents in both
-- note: two models, two ways to merge sub-words, or trained and random weights: any two runs over one corpus. A word
--   that one of them left out is counted in neither.
-- note: both heads are chosen on every second document, and compared on the others. With choose := 'all' each is chosen
--   on the words that it is scored on, as in best_head: of two equal models the one that has more heads to choose from
--   is then ahead, and p is of the two heads and not of the models.
-- note: a relation that was saved from a request about attention (A =[3-1]=> B) is circular, and its p values are null.
-- note: p_value and p_corrected are null where there are fewer than 6 clusters: the smallest possible p is 2/2ᴰ.
--   McNemar's test, which takes the words of a document for independent, has the p of mcnemar(only_a, only_b).
-- note: where one of the models is causal, both are scored on the dependents that it can find, which findable is the
--   share of: the causal model by later_to_earlier (see gold_dependency), and a bidirectional one by any of the three
--   directions, so that both may be given the side of the head.
-- param run_a varchar = null: name or id of a run; by default the bank's default run, else the newest finished one of
--   trained weights over single sentences
-- param run_b varchar = null: name or id of another over its corpus; by default the newest finished one whose inputs
--   are of the same kind (sentences, documents), random controls only of the model of run_a unless there is no other
-- param relation, min_count
-- param choose varchar = 'half' {half, train, all}: where the heads are chosen: on every second document, or on the
--   documents whose split is train, and scored on the others; or on all the words that they are scored on
-- param subtypes, possessive
-- column relation
-- column n bigint: dependents that both runs have, and that the heads are scored on
-- column clusters, clustered_by
-- column layer_a smallint: 1-based layer of the best head of run_a
-- column head_a smallint: 1-based number of that head in its layer
-- column direction_a varchar: dependent_to_head, head_to_dependent or later_to_earlier
-- column accuracy_a double: share of the dependents whose head it finds, in [0, 1]
-- column layer_b smallint: 1-based layer of the best head of run_b
-- column head_b smallint: 1-based number of that head in its layer
-- column direction_b varchar: dependent_to_head, head_to_dependent or later_to_earlier
-- column accuracy_b double: share of the dependents whose head it finds, in [0, 1]
-- column difference double: accuracy_a minus accuracy_b
-- column difference_low double: lower end of the 95 % interval of difference, a paired difference by clusters
-- column difference_high double: upper end of that interval
-- column cohens_h double: Cohen's h of the difference: 0.2 is small, 0.5 medium, 0.8 large
-- column only_a bigint: dependents whose head only that of run_a finds
-- column only_b bigint: dependents whose head only that of run_b finds
-- column p_value, p_corrected, p_documents, p_documents_corrected
-- column findable double: their share of the dependents that both have, in [0, 1]: 1 unless a model is causal
-- column run_a varchar: name of the first run
-- column run_b varchar: name of the second run
with first_run as (
    select choice.id, choice.name, choice.corpus, run.context, model.name as model
    from chosen_run(requested := $run_a, unit := 'word', needs := 'trees', usual := 'sentence') as choice
    inner join run on run.id = choice.id
    inner join model on model.id = run.model
),

second_candidate as (
    select
        candidate.id, candidate.name, candidate.is_whole,
        model.random_seed is null or model.name = first_run.model as is_trained_or_control,
        candidate.is_finished and candidate.context = first_run.context as is_like
    from run_candidate(unit := 'word', needs := 'trees') as candidate
    inner join first_run using (corpus)
    inner join run on run.id = candidate.id
    inner join model on model.id = run.model
    where candidate.unusable_because is null
        and candidate.id <> first_run.id
        and ($run_b is null or is_run_named(candidate.id, candidate.name, $run_b))
),

second_run as (
    select id, name
    from second_candidate
    where $run_b is not null or is_like
    qualify row_number() over (
        order by case when is_trained_or_control then 0 else 1 end, case when is_whole then 0 else 1 end, id desc
    ) = 1
),

checked_run as (
    select id
    from first_run
    where require(
        (select count(*) from second_run) = 1 or ($run_b is null and (select count(*) from second_candidate) = 0),
        case
            when $run_b is null then concat(
                'No other finished run over the corpus of ', name,
                ' has inputs of the same kind (', context,
                's). Name the run to compare it with (--run-b, run_b=): ',
                (select joined(list_sort(list(name))) from second_candidate)
            )
            else concat(
                'There is no other run ', $run_b, ' of words with trees over the corpus of ', name,
                '. Type: attnbank info'
            )
        end
    )
),

gold as (
    select 'a' as which, dependency.*
    from gold_dependency(
        run := $run_a, subtypes := $subtypes, possessive := $possessive, saved := saved_relation_name($relation)
    ) as dependency
    where exists (select 1 from checked_run)
    union all
    select 'b' as which, dependency.*
    from gold_dependency(
        run := coalesce((select name from second_run), ''), subtypes := $subtypes, possessive := $possessive,
        saved := saved_relation_name($relation)
    ) as dependency
),

common_dependent as (
    select
        gold_a.dependent, gold_a.head, gold_a.relation, gold_a.is_root, gold_a.cluster,
        $choose = 'all' or is_selection_part($choose, gold_a.split, gold_a.cluster) as is_chosen_on,
        case
            when gold_a.side = gold_b.side or gold_b.side = 'both' then gold_a.side
            when gold_a.side = 'both' then gold_b.side
        end as side
    from gold as gold_a
    inner join gold as gold_b
        on gold_b.dependent = gold_a.dependent
        and coalesce(gold_b.head, 0) = coalesce(gold_a.head, 0)
    where gold_a.which = 'a'
        and gold_b.which = 'b'
        and (gold_a.head_position is null) = (gold_b.head_position is null)
),

-- Every dependent, scored or not.
relation_size as (
    select relation, count(*) as n
    from (select is_chosen_on, unnest(relations_of(relation, is_root)) as relation from common_dependent) as dependent
    where $choose = 'all' or not is_chosen_on
    group by all
),

run_dependent as (
    select
        common_dependent.*,
        gold.which as run,
        gold.side as run_side,
        gold.sequence, gold.position, gold.head_position
    from common_dependent
    inner join gold
        on gold.dependent = common_dependent.dependent
        and coalesce(gold.head, 0) = coalesce(common_dependent.head, 0)
    where common_dependent.side is not null
),

hit as (
    select
        run_dependent.run, run_dependent.run_side, run_dependent.side, run_dependent.relation, run_dependent.is_root,
        peak.layer, peak.head,
        count(*) as n,
        sum(case when peak.most_attended = run_dependent.head_position then 1 else 0 end) as to_head,
        sum(case when peak.most_attending = run_dependent.head_position then 1 else 0 end) as to_dependent
    from run_dependent
    inner join peak using (sequence, position)
    where run_dependent.is_chosen_on
    group by all
),

per_direction as (
    select
        relation_hit.run,
        relation_hit.counted_relation as relation,
        relation_hit.layer, relation_hit.head, scored_direction.direction,
        sum(
            in_direction(scored_direction.direction, relation_hit.side, relation_hit.to_head, relation_hit.to_dependent)
        ) as correct,
        sum(relation_hit.n) as n
    from (select hit.*, unnest(relations_of(relation, is_root)) as counted_relation from hit) as relation_hit
    inner join (select unnest(directions()) as direction) as scored_direction
        on case
            when scored_direction.direction = 'later_to_earlier' then relation_hit.side <> 'both'
            else relation_hit.run_side = 'both'
        end
    group by all
),

best as (
    select per_direction.*
    from per_direction
    where n >= least(10, $min_count)
        and (saved_relation_name($relation) is null or relation = $relation)
    qualify row_number() over (partition by run, relation order by correct desc, layer, head, direction) = 1
),

prediction as (
    select
        best.run, best.relation, run_dependent.dependent, run_dependent.head, run_dependent.cluster,
        finds_head(
            best.direction, run_dependent.side, peak.most_attended, peak.most_attending, run_dependent.head_position
        ) as is_right
    from best
    inner join (
        select run_dependent.*, unnest(relations_of(relation, is_root)) as counted_relation
        from run_dependent
    ) as run_dependent
        on run_dependent.run = best.run
        and run_dependent.counted_relation = best.relation
    inner join peak
        on peak.sequence = run_dependent.sequence
        and peak.position = run_dependent.position
        and peak.layer = best.layer
        and peak.head = best.head
    where $choose = 'all' or not run_dependent.is_chosen_on
),

comparison as (
    select
        relation, dependent, head, cluster,
        max(case when run = 'a' then is_right else 0 end) as by_a,
        max(case when run = 'b' then is_right else 0 end) as by_b
    from prediction
    group by all
),

per_cluster as materialized (
    select
        relation, cluster,
        dense_rank() over (order by relation) as number,
        count(*) as n,
        cast(sum(by_a) as bigint) as correct_a,
        cast(sum(by_b) as bigint) as correct_b,
        cast(sum(by_a * (1 - by_b)) as bigint) as only_a,
        cast(sum(by_b * (1 - by_a)) as bigint) as only_b
    from comparison
    group by relation, cluster
),

per_relation as materialized (
    select
        relation, number,
        cast(sum(n) as bigint) as n,
        ratio(sum(correct_a), sum(n)) as accuracy_a,
        ratio(sum(correct_b), sum(n)) as accuracy_b
    from per_cluster
    group by all
)

select
    per_relation.relation, per_relation.n, test.clusters,
    (
        select max(clustered_by)
        from corpus_document(runs := (select list(id) from first_run)) as clustered_document
    ) as clustered_by,
    best_a.layer as layer_a,
    best_a.head as head_a,
    best_a.direction as direction_a,
    per_relation.accuracy_a,
    best_b.layer as layer_b,
    best_b.head as head_b,
    best_b.direction as direction_b,
    per_relation.accuracy_b, test.difference,
    test.low as difference_low,
    test.high as difference_high,
    cohens_h(per_relation.accuracy_a, per_relation.accuracy_b) as cohens_h,
    test.only_a, test.only_b, test.p_value,
    case when per_relation.relation = 'all' then test.p_value else test.p_corrected end as p_corrected,
    test.p_value as p_documents,
    case when per_relation.relation = 'all' then test.p_value else test.p_corrected end as p_documents_corrected,
    ratio(per_relation.n, relation_size.n) as findable,
    (select name from first_run) as run_a,
    (select name from second_run) as run_b
from per_relation
inner join paired_test(
    pairs := (select list([number, cluster, n, only_a, only_b]) from per_cluster),
    family := (select list(number) from per_relation where n >= 10 and relation <> 'all'),
    is_two_sided := true, is_circular := is_circular($relation)
) as test on test.number = per_relation.number
inner join best as best_a
    on best_a.relation = per_relation.relation
    and best_a.run = 'a'
inner join best as best_b
    on best_b.relation = per_relation.relation
    and best_b.run = 'b'
inner join relation_size on relation_size.relation = per_relation.relation
where per_relation.n >= $min_count
    and ($relation is null or per_relation.relation = $relation)
order by per_relation.n desc, per_relation.relation
