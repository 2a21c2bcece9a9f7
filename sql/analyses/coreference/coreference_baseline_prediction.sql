-- title: The antecedent that each rule baseline predicts for each mention
-- paper: Clark et al. 2019, section 4.3, table 2
-- grain: one row per (mention with an antecedent in its input, baseline)
-- formula: nearest(m) = argmin_{c ∈ C(m)} nearness(c), where C(m) are the candidates of mention m
-- formula: head_match(m) = argmin of nearness(c) over the c ∈ C(m) with the head word of m
-- formula: rule_based(m) = argmin_{c ∈ C(m)} of the pair (sieve(c), nearness(c)), where the sieves are 1 text, 2 head,
--   3 agreement, 4 any
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- empty: no mention of the run has an antecedent in its own input
-- note: head_match predicts nothing, and is wrong, where no candidate has the head word. For what passes the sieves
--   text, head and agreement see coreference_candidate: same_text, same_head and agrees.
-- param singletons
-- column sequence, document, mention, kind, position, baseline
-- column candidate bigint: mention.id of the mention that it takes; null where it takes none
-- column sieve varchar: what let that one through: text, head, agreement or any; null where it takes none
-- column is_right boolean: whether the head word of that mention is the head of an antecedent
-- column run
with sieved_pair as (
    select pair.*, case when same_text then 1 when same_head then 2 when agrees then 3 else 4 end as sieve
    from coreference_candidate(singletons := $singletons, run := $run) as pair
),

ranked_pair as (
    select
        sieved_pair.*,
        row_number() over (
            partition by sequence, mention
            order by case when same_head then 1 else 2 end, nearness
        ) as head_place,
        row_number() over (partition by sequence, mention order by sieve, nearness) as rule_place
    from sieved_pair
),

baseline_pair as (
    select
        ranked_pair.*,
        unnest([
            {'baseline': 'nearest', 'place': nearness, 'sieve': 4},
            {'baseline': 'head_match', 'place': head_place, 'sieve': case when same_head then 2 end},
            {'baseline': 'rule_based', 'place': rule_place, 'sieve': sieve}
        ]) as choice
    from ranked_pair
)

select
    sequence, document, mention, kind, position,
    choice.baseline as baseline,
    case when choice.sieve is not null then candidate end as candidate,
    list_extract(['text', 'head', 'agreement', 'any'], choice.sieve) as sieve,
    is_right and choice.sieve is not null as is_right,
    (select name from chosen_run) as run
from baseline_pair
where choice.place = 1
order by sequence, mention, baseline_place(choice.baseline)
