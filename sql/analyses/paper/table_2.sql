-- title: Table 2 as the paper prints it: how often rule baselines and the best head find an antecedent, in per cent
-- paper: Clark et al. 2019, section 4.3, table 2
-- grain: one row per model: the three baselines, then the head that is best on all mentions
-- formula: 100 × accuracy of coreference_baseline; 100 × accuracy of coreference_accuracy for argmax_h correct_h(all)
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: true
-- empty: no mention of the run has an antecedent in its own input
-- note: with the defaults of coreference_accuracy: a head chooses among the heads of earlier mentions. The paper's row
--   of a neural coreference system is left out.
-- note: all inputs of a document are scored; the paper scores only its first 128 tokens (ingest --truncate).
-- note: all is a word of SQL: write "all", or qualify it.
-- column model varchar: the baseline, or the head as layer-head
-- column all integer: per cent of the mentions with an antecedent for which it finds one
-- column pronoun integer: the same for pronouns
-- column proper integer: the same for proper names
-- column nominal integer: the same for all other mentions
-- column run
with head_kind as (
    select layer, head, kind, accuracy, correct
    from coreference_accuracy(run := $run) as kind_accuracy
),

best as (
    select layer, head
    from head_kind
    where kind = 'all'
    order by correct desc, layer, head
    limit 1
),

table_cell as (
    select
        baseline_place(baseline) as place,
        list_extract(['Nearest', 'Head match', 'Rule-based'], baseline_place(baseline)) as model,
        kind, accuracy
    from coreference_baseline(run := $run) as baseline
    union all
    select
        4 as place,
        concat('Head ', cast(best.layer as varchar), '-', cast(best.head as varchar)) as model,
        head_kind.kind, head_kind.accuracy
    from best
    inner join head_kind using (layer, head)
)

select
    model,
    cast(round(100 * max(case when kind = 'all' then accuracy end)) as integer) as "all",
    cast(round(100 * max(case when kind = 'pronoun' then accuracy end)) as integer) as pronoun,
    cast(round(100 * max(case when kind = 'proper' then accuracy end)) as integer) as proper,
    cast(round(100 * max(case when kind = 'nominal' then accuracy end)) as integer) as nominal,
    (select name from chosen_run) as run
from table_cell
group by place, model
order by place
