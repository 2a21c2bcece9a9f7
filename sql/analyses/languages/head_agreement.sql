-- title: How far two corpora agree on which heads find a relation
-- paper: beside Chi, Hewitt and Manning 2020 (multilingual BERT); the correlation is that of Spearman 1904
-- grain: one row per pair of different corpora, the earlier name first, of each relation
-- formula: agreement(a, b) = ρ(rank_a, rank_b), the correlation of the ranks of all heads and directions by their
--   accuracy in the two corpora; equal accuracies share the mean of their ranks
-- formula: control(a, b) is the mean of the same over the seeds of random weights that are over both corpora
-- run: unit=word needs=trees usual=sentence
-- plot: matrix x=corpus_a y=corpus_b color=distance
-- empty: the model was run over one corpus only, or no two have min_count dependents of the relation
-- note: the runs are those of one model over every corpus of the bank with trees, as in relation_by_corpus. A corpus with
--   fewer than min_count dependents of the relation is left out.
-- note: control is null where the bank has no runs of random weights of the same build over both corpora (attnbank
--   ingest ... --random-weights 1..5). What two languages share by their word order alone it shares, too.
-- note: of a causal model the heads are ranked in the direction later_to_earlier alone, in which all are judged on the same
--   dependents (see gold_dependency).
-- note: agreement is null where all heads of a corpus are equally good.
-- param relation varchar = null: a relation; by default all dependents
-- param corpora
-- param min_count integer = 10: leave out corpora with fewer dependents of the relation
-- param run, subtypes
-- column relation
-- column corpus_a varchar: name of a corpus
-- column corpus_b varchar: name of a later one
-- column language_a varchar: language of corpus_a; null where it is not known
-- column language_b varchar: language of corpus_b; null where it is not known
-- column heads bigint: heads and directions that are ranked
-- column agreement double: Spearman's rank correlation of their accuracies, in [-1, 1]
-- column distance double: 1 − agreement, in [0, 2]
-- column control double: the same of random weights, the mean over their seeds; null where there are none
-- column control_low double: its lowest value of a seed
-- column control_high double: its highest value of a seed
-- column control_seeds bigint: seeds of random weights that are over both corpora
-- column run varchar: name of the run that answered, of whose model the others are
with

corpus_run as (
    select false as is_control, trained.*
    from corpus_run(run := $run, corpora := $corpora) as trained
    union all
    select true as is_control, random.*
    from corpus_run(run := $run, corpora := $corpora, is_control := true) as random
),

scored as (
    select corpus_run.is_control, corpus_run.seed, corpus_run.corpus, corpus_run.language, hit.*
    from pair_hit(runs := (select list(corpus_run.id) from corpus_run), subtypes := $subtypes) as hit
    inner join corpus_run on corpus_run.id = hit.run
    where hit.n >= $min_count
        and hit.side in ('both', 'either')
        and hit.relation = coalesce($relation, 'all')
),

-- Twice the mean rank of equals, a whole number: the lowest of them plus the highest.
ranked as (
    select
        scored.*,
        2 * rank() over (partition by scored.run order by scored.accuracy)
        + count(*) over (partition by scored.run, scored.accuracy) - 1 as twice_rank
    from scored
),

summed as (
    select
        one.is_control,
        one.seed,
        one.corpus as corpus_a,
        other.corpus as corpus_b,
        min(one.language) as language_a,
        min(other.language) as language_b,
        count(*) as n,
        sum(one.twice_rank) as sum_a,
        sum(other.twice_rank) as sum_b,
        sum(one.twice_rank * one.twice_rank) as square_a,
        sum(other.twice_rank * other.twice_rank) as square_b,
        sum(one.twice_rank * other.twice_rank) as product
    from ranked as one
    inner join ranked as other
        on other.is_control = one.is_control
        and other.seed is not distinct from one.seed
        and other.layer = one.layer
        and other.head = one.head
        and other.direction = one.direction
        and other.corpus > one.corpus
    group by one.is_control, one.seed, one.corpus, other.corpus
),

correlated as (
    select
        summed.*,
        cast(summed.n * summed.product - summed.sum_a * summed.sum_b as double) / nullif(
            sqrt(cast(summed.n * summed.square_a - summed.sum_a * summed.sum_a as double))
            * sqrt(cast(summed.n * summed.square_b - summed.sum_b * summed.sum_b as double)),
            cast(0 as double)
        ) as agreement
    from summed
),

control as (
    select
        correlated.corpus_a,
        correlated.corpus_b,
        avg(correlated.agreement) as agreement,
        min(correlated.agreement) as low,
        max(correlated.agreement) as high,
        count(correlated.agreement) as seeds
    from correlated
    where correlated.is_control
    group by correlated.corpus_a, correlated.corpus_b
)

select
    coalesce($relation, 'all') as relation,
    trained.corpus_a,
    trained.corpus_b,
    trained.language_a,
    trained.language_b,
    trained.n as heads,
    trained.agreement,
    1 - trained.agreement as distance,
    control.agreement as control,
    control.low as control_low,
    control.high as control_high,
    coalesce(control.seeds, 0) as control_seeds,
    (select chosen_run.name from chosen_run) as run
from correlated as trained
left join control
    on control.corpus_a = trained.corpus_a
    and control.corpus_b = trained.corpus_b
where not trained.is_control
order by trained.corpus_a, trained.corpus_b
