-- title: The mention that each simple rule takes for the antecedent of each mention
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
-- column candidate integer: mention.id of the mention that it takes; null where it takes none
-- column sieve varchar: what let that one through: text, head, agreement or any; null where it takes none
-- column is_right boolean: whether the head word of that mention is the head of an antecedent
-- column run
with

sifted as (
    select
        pair.*,
        case when pair.same_text then 1 when pair.same_head then 2 when pair.agrees then 3 else 4 end as sieve
    from coreference_candidate(singletons := $singletons, run := $run) as pair
),

ranked as (
    select
        sifted.*,
        row_number() over (
            partition by sifted.sequence, sifted.mention
            order by case when sifted.same_head then 1 else 2 end, sifted.nearness
        ) as head_place,
        row_number() over (
            partition by sifted.sequence, sifted.mention order by sifted.sieve, sifted.nearness
        ) as rule_place
    from sifted
),

judged as (
    select
        ranked.*,
        unnest([
            {'baseline': 'nearest', 'place': ranked.nearness, 'sieve': 4},
            {'baseline': 'head_match', 'place': ranked.head_place, 'sieve': case when ranked.same_head then 2 end},
            {'baseline': 'rule_based', 'place': ranked.rule_place, 'sieve': ranked.sieve}
        ]) as taken
    from ranked
)

select
    judged.sequence,
    judged.document,
    judged.mention,
    judged.kind,
    judged.position,
    judged.taken.baseline as baseline,
    case when judged.taken.sieve is not null then judged.candidate end as candidate,
    list_extract(['text', 'head', 'agreement', 'any'], judged.taken.sieve) as sieve,
    judged.is_right and judged.taken.sieve is not null as is_right,
    (select chosen_run.name from chosen_run) as run
from judged
where judged.taken.place = 1
order by judged.sequence, judged.mention, baseline_place(judged.taken.baseline)
