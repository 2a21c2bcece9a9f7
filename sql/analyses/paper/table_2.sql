-- title: Table 2 as the paper prints it: the antecedents that simple rules and the best head find, in per cent
-- paper: Clark et al. 2019, section 4.3, table 2
-- grain: one row per model: the three baselines, then the head that is best on all mentions
-- formula: 100 × accuracy of coreference_baseline; 100 × accuracy of coreference_accuracy for argmax_h
--   correct_h(all)
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: true
-- empty: no mention of the run has an antecedent in its own input
-- note: with the defaults of coreference_accuracy: a head chooses among the heads of earlier mentions. The paper's row
--   of a neural coreference system is left out.
-- note: every input of a document is judged; the paper judges only its first 128 tokens (ingest --truncate).
-- note: all is a word of SQL: write "all", or qualify it.
-- column model varchar: the baseline, or the head as layer-head
-- column all integer: per cent of the mentions with an antecedent for which it finds one
-- column pronoun integer: the same for pronouns
-- column proper integer: the same for proper names
-- column nominal integer: the same for all other mentions
-- column run
with

accuracy as (
    select found.layer, found.head, found.kind, found.accuracy, found.correct
    from coreference_accuracy(run := $run) as found
),

best as (
    select accuracy.layer, accuracy.head
    from accuracy
    where accuracy.kind = 'all'
    order by accuracy.correct desc, accuracy.layer, accuracy.head
    limit 1
),

scored as (
    select
        baseline_place(baseline.baseline) as place,
        list_extract(['Nearest', 'Head match', 'Rule-based'], baseline_place(baseline.baseline)) as model,
        baseline.kind,
        baseline.accuracy
    from coreference_baseline(run := $run) as baseline
    union all
    select
        4 as place,
        concat('Head ', cast(best.layer as varchar), '-', cast(best.head as varchar)) as model,
        accuracy.kind,
        accuracy.accuracy
    from best
    inner join accuracy
        on accuracy.layer = best.layer
        and accuracy.head = best.head
)

select
    scored.model,
    cast(round(100 * max(case when scored.kind = 'all' then scored.accuracy end)) as integer) as "all",
    cast(round(100 * max(case when scored.kind = 'pronoun' then scored.accuracy end)) as integer) as pronoun,
    cast(round(100 * max(case when scored.kind = 'proper' then scored.accuracy end)) as integer) as proper,
    cast(round(100 * max(case when scored.kind = 'nominal' then scored.accuracy end)) as integer) as nominal,
    (select chosen_run.name from chosen_run) as run
from scored
group by scored.place, scored.model
order by scored.place
