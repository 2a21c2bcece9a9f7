-- title: The best head for each relation in two runs, on the words that both have
-- paper: beside Clark et al. 2019, section 4.2; the test is McNemar's, exact
-- grain: one row per relation, the most frequent first
-- formula: difference = accuracy_a − accuracy_b, each of the best head and direction of its run over the same dependents
-- formula: p_value = min(1, 2 Σ_{k=0}^{min(only_a, only_b)} C(n, k) / 2ⁿ), where n = only_a + only_b
-- plot: bars x=accuracy_a y=relation beside=accuracy_b domain=0,1
-- empty: the corpus has no second finished run of words, or no relation has min_count dependents in both
-- note: two models, two ways to merge sub-words, or trained and random weights: any two runs over one corpus. A word
--   that one of them left out is counted in neither.
-- note: each run's head is chosen on the words that it is scored on, as in best_head; p_value is of those two heads, and
--   is not corrected for the heads and the relations that were looked at.
-- param run_a varchar = null: name or id of a run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param run_b varchar = null: name or id of another over the same corpus; by default the newest finished one, a random
--   control too
-- param relation varchar = null: only this relation (or all); by default every one
-- param min_count integer = 10: leave out relations with fewer dependents
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- column relation varchar: the relation, or all
-- column n bigint: dependents that both runs have
-- column layer_a smallint: 1-based layer of the best head of run_a
-- column head_a smallint: 1-based number of that head in its layer
-- column direction_a varchar: dependent_to_head or head_to_dependent
-- column accuracy_a double: share of the dependents whose head it finds, in [0, 1]
-- column layer_b smallint: 1-based layer of the best head of run_b
-- column head_b smallint: 1-based number of that head in its layer
-- column direction_b varchar: dependent_to_head or head_to_dependent
-- column accuracy_b double: share of the dependents whose head it finds, in [0, 1]
-- column difference double: accuracy_a minus accuracy_b
-- column only_a bigint: dependents whose head only that of run_a finds
-- column only_b bigint: dependents whose head only that of run_b finds
-- column p_value double: how likely a split of those two at least as uneven is by chance, in [0, 1]
-- column run_a varchar: name of the first run
-- column run_b varchar: name of the second run
with

chosen_a as (
    select chosen.id, chosen.name, chosen.corpus
    from chosen_run(
        asked := $run_a, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

candidate as (
    select fit.id, fit.name
    from run_fit(unit := 'word', needs := 'trees', equipped := runs_with_trees()) as fit
    inner join chosen_a on chosen_a.corpus = fit.corpus
    where fit.misfit is null
        and fit.id <> chosen_a.id
        and case
            when $run_b is null then fit.is_finished
            else fit.name = $run_b or cast(fit.id as varchar) = $run_b
        end
),

chosen_b as (
    select candidate.id, candidate.name
    from candidate
    where candidate.id = (select max(candidate.id) from candidate)
),

allowed as (
    select chosen_a.id
    from chosen_a
    where refuse_unless(
        $run_b is null or (select count(*) from chosen_b) = 1,
        concat(
            'There is no other run ', $run_b, ' of words with trees over the corpus of ', chosen_a.name,
            '. Type: attnbank info'
        )
    )
),

gold_a as (
    select
        gold.dependent,
        gold.head,
        gold.sequence,
        gold.position,
        gold.head_position,
        gold.relation,
        gold.is_root
    from gold_dependency(
        run := $run_a, subtypes := $subtypes, possessive := $possessive, saved := as_saved($relation)
    ) as gold
    where exists (select 1 from allowed)
),

gold_b as (
    select gold.dependent, gold.head, gold.sequence, gold.position, gold.head_position
    from gold_dependency(
        run := coalesce((select chosen_b.name from chosen_b), ''),
        subtypes := $subtypes,
        possessive := $possessive,
        saved := as_saved($relation)
    ) as gold
),

common as (
    select
        gold_a.dependent,
        gold_a.head,
        gold_a.relation,
        gold_a.is_root,
        gold_a.sequence as sequence_a,
        gold_a.position as position_a,
        gold_a.head_position as head_position_a,
        gold_b.sequence as sequence_b,
        gold_b.position as position_b,
        gold_b.head_position as head_position_b
    from gold_a
    inner join gold_b
        on gold_b.dependent = gold_a.dependent
        and coalesce(gold_b.head, 0) = coalesce(gold_a.head, 0)
    where (gold_a.head_position is null) = (gold_b.head_position is null)
),

sought as (
    select
        'a' as side,
        common.dependent,
        common.head,
        common.relation,
        common.is_root,
        common.sequence_a as sequence,
        common.position_a as position,
        common.head_position_a as head_position
    from common
    union all
    select
        'b' as side,
        common.dependent,
        common.head,
        common.relation,
        common.is_root,
        common.sequence_b as sequence,
        common.position_b as position,
        common.head_position_b as head_position
    from common
),

hit as (
    select
        sought.side,
        sought.relation,
        sought.is_root,
        peak.layer,
        peak.head,
        count(*) as n,
        sum(case when peak.most_attended = sought.head_position then 1 else 0 end) as to_head,
        sum(case when peak.most_attending = sought.head_position then 1 else 0 end) as to_dependent
    from sought
    inner join peak
        on peak.sequence = sought.sequence
        and peak.position = sought.position
    group by sought.side, sought.relation, sought.is_root, peak.layer, peak.head
),

per_relation as (
    select hit.side, hit.relation, hit.layer, hit.head, hit.n, hit.to_head, hit.to_dependent
    from hit
    where not hit.is_root
    union all
    select
        hit.side,
        'all' as relation,
        hit.layer,
        hit.head,
        sum(hit.n) as n,
        sum(hit.to_head) as to_head,
        sum(hit.to_dependent) as to_dependent
    from hit
    group by hit.side, hit.layer, hit.head
),

per_direction as (
    select
        per_relation.side,
        per_relation.relation,
        per_relation.layer,
        per_relation.head,
        'dependent_to_head' as direction,
        per_relation.to_head as correct,
        per_relation.n
    from per_relation
    union all
    select
        per_relation.side,
        per_relation.relation,
        per_relation.layer,
        per_relation.head,
        'head_to_dependent' as direction,
        per_relation.to_dependent as correct,
        per_relation.n
    from per_relation
),

best as (
    select
        per_direction.side,
        per_direction.relation,
        per_direction.layer,
        per_direction.head,
        per_direction.direction,
        cast(per_direction.correct as bigint) as correct,
        cast(per_direction.n as bigint) as n
    from per_direction
    where per_direction.n >= $min_count
        and ($relation is null or per_direction.relation = $relation)
    qualify row_number() over (
        partition by per_direction.side, per_direction.relation
        order by per_direction.correct desc, per_direction.layer, per_direction.head, per_direction.direction
    ) = 1
),

judged as (
    select
        best.side,
        best.relation,
        sought.dependent,
        sought.head,
        coalesce(
            case best.direction
                when 'dependent_to_head' then peak.most_attended
                else peak.most_attending
            end = sought.head_position,
            false
        ) as is_right
    from best
    inner join sought
        on sought.side = best.side
        and (best.relation = 'all' or (sought.relation = best.relation and not sought.is_root))
    inner join peak
        on peak.sequence = sought.sequence
        and peak.position = sought.position
        and peak.layer = best.layer
        and peak.head = best.head
),

outcome as (
    select
        judged.relation,
        judged.dependent,
        judged.head,
        max(case when judged.side = 'a' and judged.is_right then 1 else 0 end) as by_a,
        max(case when judged.side = 'b' and judged.is_right then 1 else 0 end) as by_b
    from judged
    group by judged.relation, judged.dependent, judged.head
),

discordant as (
    select
        outcome.relation,
        cast(sum(outcome.by_a * (1 - outcome.by_b)) as bigint) as only_a,
        cast(sum(outcome.by_b * (1 - outcome.by_a)) as bigint) as only_b
    from outcome
    group by outcome.relation
)

select
    best_a.relation,
    best_a.n,
    best_a.layer as layer_a,
    best_a.head as head_a,
    best_a.direction as direction_a,
    cast(best_a.correct as double) / cast(best_a.n as double) as accuracy_a,
    best_b.layer as layer_b,
    best_b.head as head_b,
    best_b.direction as direction_b,
    cast(best_b.correct as double) / cast(best_b.n as double) as accuracy_b,
    cast(best_a.correct as double) / cast(best_a.n as double)
    - cast(best_b.correct as double) / cast(best_b.n as double) as difference,
    discordant.only_a,
    discordant.only_b,
    mcnemar(discordant.only_a, discordant.only_b) as p_value,
    (select chosen_a.name from chosen_a) as run_a,
    (select chosen_b.name from chosen_b) as run_b
from best as best_a
inner join best as best_b on best_b.relation = best_a.relation
inner join discordant on discordant.relation = best_a.relation
where best_a.side = 'a'
    and best_b.side = 'b'
order by best_a.n desc, best_a.relation
