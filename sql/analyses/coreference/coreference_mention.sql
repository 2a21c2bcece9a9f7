-- title: Every mention with an antecedent in its input, and the positions of its antecedents
-- paper: Clark et al. 2019, section 4.3
-- grain: one row per mention with an antecedent in its input
-- formula: word_distance(m) = |w(m) − w(a)| and mention_distance(m) = nearness(a), where a is the nearest antecedent of
--   m and w the position of a head word
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- empty: no mention of the run has an antecedent in its own input
-- note: these are the mentions that heads and baselines are scored on; see coreference_candidate for what counts as an
--   antecedent, and for nearness.
-- param singletons
-- column sequence, document, split, mention, kind
-- column form varchar: its head word as it is written
-- column position
-- column entity bigint: its entity
-- column antecedents bigint: earlier mentions of the same entity
-- column candidates bigint: earlier mentions of any entity
-- column word_distance integer: words from the head of the nearest antecedent to its own
-- column mention_distance bigint: how many candidates away the nearest antecedent is: 1 where the nearest is one
-- column antecedent_positions smallint[]: positions of the heads of its antecedents, in order
-- column candidate_positions smallint[]: positions of the heads of its candidates, in order
-- column run
with mention_summary as (
    select
        sequence, document, mention, kind, position, entity,
        count(*) filter (where is_antecedent) as antecedents,
        count(*) as candidates,
        min(nearness) filter (where is_antecedent) as mention_distance,
        list_sort(list(distinct candidate_position) filter (where is_antecedent)) as antecedent_positions,
        list_sort(list(distinct candidate_position)) as candidate_positions,
        arg_min(candidate_position, (nearness, candidate)) filter (
            where is_antecedent
        ) as nearest_position
    from coreference_candidate(singletons := $singletons, run := $run) as pair
    group by all
)

select
    mention_summary.sequence, mention_summary.document, document.split, mention_summary.mention, mention_summary.kind,
    word.form, mention_summary.position, mention_summary.entity, mention_summary.antecedents,
    mention_summary.candidates,
    abs(cast(mention_summary.position as integer) - cast(mention_summary.nearest_position as integer)) as word_distance,
    mention_summary.mention_distance, mention_summary.antecedent_positions, mention_summary.candidate_positions,
    (select name from chosen_run) as run
from mention_summary
inner join document on document.id = mention_summary.document
inner join mention on mention.id = mention_summary.mention
inner join word on word.id = mention.head_word
order by mention_summary.sequence, mention_summary.mention
