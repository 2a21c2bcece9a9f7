-- title: The antecedent that each rule baseline predicts for each mention
-- paper: Clark et al. 2019, section 4.3, table 2
-- grain: one row per (mention with an antecedent in its input, baseline)
-- formula: nearest(m) = argmin_{c ∈ C(m)} nearness(c), where C(m) are the candidates of mention m
-- formula: head_match(m) = argmin of nearness(c) over the c ∈ C(m) with the head word of m
-- formula: rule_based(m) = argmin_{c ∈ C(m)} of the pair (sieve(c), nearness(c)), where the sieves are 1 text, 2
--   head, 3 agreement, 4 any
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- empty: no mention of the run has an antecedent in its own input
-- note: nearest takes the nearest earlier mention; head_match the nearest one with the same head word, and predicts
--   nothing (is wrong) where there is none; rule_based the nearest one of the first sieve that lets any through: the
--   same text, the same head word, agreement in number, gender and person, any. See coreference_candidate.
-- param singletons
-- column sequence, document, mention, kind, position, baseline
-- column candidate bigint: mention.id of the mention that it takes; null where it takes none
-- column sieve varchar: what let that one through: text, head, agreement or any; null where it takes none
-- column is_right boolean: whether the head word of that mention is the head of an antecedent
-- column run
with

sieved_pair as (
    select
        pair.*,
        case when pair.same_text then 1 when pair.same_head then 2 when pair.agrees then 3 else 4 end as sieve
    from coreference_candidate(singletons := $singletons, run := $run) as pair
),

ranked_pair as (
    select
        sieved_pair.*,
        row_number() over (
            partition by sieved_pair.sequence, sieved_pair.mention
            order by case when sieved_pair.same_head then 1 else 2 end, sieved_pair.nearness
        ) as head_place,
        row_number() over (
            partition by sieved_pair.sequence, sieved_pair.mention order by sieved_pair.sieve, sieved_pair.nearness
        ) as rule_place
    from sieved_pair
),

baseline_pair as (
    select
        ranked_pair.*,
        unnest([
            {'baseline': 'nearest', 'place': ranked_pair.nearness, 'sieve': 4},
            {
                'baseline': 'head_match',
                'place': ranked_pair.head_place,
                'sieve': case when ranked_pair.same_head then 2 end
            },
            {'baseline': 'rule_based', 'place': ranked_pair.rule_place, 'sieve': ranked_pair.sieve}
        ]) as choice
    from ranked_pair
)

select
    baseline_pair.sequence,
    baseline_pair.document,
    baseline_pair.mention,
    baseline_pair.kind,
    baseline_pair.position,
    baseline_pair.choice.baseline as baseline,
    case when baseline_pair.choice.sieve is not null then baseline_pair.candidate end as candidate,
    list_extract(['text', 'head', 'agreement', 'any'], baseline_pair.choice.sieve) as sieve,
    baseline_pair.is_right and baseline_pair.choice.sieve is not null as is_right,
    (select chosen_run.name from chosen_run) as run
from baseline_pair
where baseline_pair.choice.place = 1
order by baseline_pair.sequence, baseline_pair.mention, baseline_place(baseline_pair.choice.baseline)
