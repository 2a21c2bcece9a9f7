-- title: How far two corpora agree on which heads find a relation
-- paper: beside Chi, Hewitt and Manning 2020 (multilingual BERT); the correlation is that of Spearman 1904
-- grain: one row per pair of different corpora, the earlier name first, of each relation
-- formula: agreement(a, b) = ρ(rank_a, rank_b), the correlation of the ranks of all heads and directions by their
--   accuracy in the two corpora; equal accuracies share the mean of their ranks
-- formula: control(a, b) is the mean of the same over the seeds of random weights that are over both corpora
-- run: unit=word needs=trees usual=sentence
-- plot: matrix x=corpus_a y=corpus_b color=distance
-- empty: the model was run over one corpus only, or no two have min_count dependents of the relation
-- note: the runs are those of one model over every corpus of the bank with trees, as in relation_by_corpus. A corpus
--   with fewer than min_count dependents of the relation is left out.
-- note: control is null where the bank has no runs of random weights of the same build over both corpora (attnbank
--   ingest ... --random-weights 1..5). What two languages share by their word order alone it shares, too.
-- note: of a causal model the heads are ranked in the direction later_to_earlier alone, in which all are scored on the
--   same dependents (see gold_dependency).
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
with corpus_run as (
    select false as is_control, trained.*
    from corpus_run(run := $run, corpora := $corpora) as trained
    union all
    select true as is_control, random.*
    from corpus_run(run := $run, corpora := $corpora, is_control := true) as random
),

corpus_hit as (
    select corpus_run.is_control, corpus_run.seed, corpus_run.corpus, corpus_run.language, hit.*
    from pair_hit(runs := (select list(id) from corpus_run), subtypes := $subtypes) as hit
    inner join corpus_run on corpus_run.id = hit.run
    where hit.n >= $min_count
        and hit.side in ('both', 'either')
        and hit.relation = coalesce($relation, 'all')
),

-- Twice the mean rank of equals, a whole number: the lowest of them plus the highest.
ranked_hit as (
    select
        corpus_hit.*,
        2 * rank() over (partition by run order by accuracy)
        + count(*) over (partition by run, accuracy) - 1 as twice_rank
    from corpus_hit
),

corpus_pair as (
    select
        first_hit.is_control, first_hit.seed,
        first_hit.corpus as corpus_a,
        second_hit.corpus as corpus_b,
        min(first_hit.language) as language_a,
        min(second_hit.language) as language_b,
        count(*) as n,
        sum(first_hit.twice_rank) as sum_a,
        sum(second_hit.twice_rank) as sum_b,
        sum(first_hit.twice_rank * first_hit.twice_rank) as square_a,
        sum(second_hit.twice_rank * second_hit.twice_rank) as square_b,
        sum(first_hit.twice_rank * second_hit.twice_rank) as product
    from ranked_hit as first_hit
    inner join ranked_hit as second_hit
        on second_hit.is_control = first_hit.is_control
        and second_hit.seed is not distinct from first_hit.seed
        and second_hit.layer = first_hit.layer
        and second_hit.head = first_hit.head
        and second_hit.direction = first_hit.direction
        and second_hit.corpus > first_hit.corpus
    group by all
),

rank_correlation as (
    select
        corpus_pair.*,
        cast(n * product - sum_a * sum_b as double) / nullif(
            sqrt(cast(n * square_a - sum_a * sum_a as double))
            * sqrt(cast(n * square_b - sum_b * sum_b as double)),
            cast(0 as double)
        ) as agreement
    from corpus_pair
),

control as (
    select
        corpus_a, corpus_b,
        avg(agreement) as agreement,
        min(agreement) as low,
        max(agreement) as high,
        count(agreement) as seeds
    from rank_correlation
    where is_control
    group by all
)

select
    coalesce($relation, 'all') as relation,
    trained.corpus_a, trained.corpus_b, trained.language_a, trained.language_b,
    trained.n as heads,
    trained.agreement,
    1 - trained.agreement as distance,
    control.agreement as control,
    control.low as control_low,
    control.high as control_high,
    coalesce(control.seeds, 0) as control_seeds,
    (select name from chosen_run) as run
from rank_correlation as trained
left join control using (corpus_a, corpus_b)
where not trained.is_control
order by trained.corpus_a, trained.corpus_b
