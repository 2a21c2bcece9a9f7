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
-- param singletons boolean = true: keep candidates whose entity has one mention only in the document; CoNLL-2012 marks none
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over documents
-- column sequence integer: sequence.id of the input
-- column document integer: document.id
-- column mention integer: mention.id
-- column kind varchar: pronoun, proper or nominal
-- column position smallint: position of its head word
-- column baseline varchar: nearest, head_match or rule_based
-- column candidate integer: mention.id of the mention that it takes; null where it takes none
-- column sieve varchar: what let that one through: text, head, agreement or any; null where it takes none
-- column is_right boolean: whether the head word of that mention is the head of an antecedent
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', contexts := ['document', 'sentence'],
        needs := 'mentions', equipped := runs_with_mentions(), usual := 'document'
    ) as chosen
),

sifted as (
    select
        pair.sequence,
        pair.document,
        pair.mention,
        pair.kind,
        pair.position,
        pair.candidate,
        pair.nearness,
        pair.is_right,
        pair.same_head,
        case when pair.same_text then 1 when pair.same_head then 2 when pair.agrees then 3 else 4 end as sieve
    from coreference_candidate(singletons := $singletons, run := $run) as pair
),

ranked as (
    select
        sifted.sequence,
        sifted.document,
        sifted.mention,
        sifted.kind,
        sifted.position,
        sifted.candidate,
        sifted.nearness,
        sifted.is_right,
        sifted.same_head,
        sifted.sieve,
        row_number() over (
            partition by sifted.sequence, sifted.mention
            order by case when sifted.same_head then 1 else 2 end, sifted.nearness
        ) as head_place,
        row_number() over (
            partition by sifted.sequence, sifted.mention
            order by sifted.sieve, sifted.nearness
        ) as rule_place
    from sifted
),

taken as (
    select
        'nearest' as baseline,
        ranked.sequence,
        ranked.document,
        ranked.mention,
        ranked.kind,
        ranked.position,
        ranked.candidate,
        4 as sieve,
        ranked.is_right
    from ranked
    where ranked.nearness = 1
    union all
    select
        'head_match' as baseline,
        ranked.sequence,
        ranked.document,
        ranked.mention,
        ranked.kind,
        ranked.position,
        case when ranked.same_head then ranked.candidate end as candidate,
        case when ranked.same_head then 2 end as sieve,
        ranked.same_head and ranked.is_right as is_right
    from ranked
    where ranked.head_place = 1
    union all
    select
        'rule_based' as baseline,
        ranked.sequence,
        ranked.document,
        ranked.mention,
        ranked.kind,
        ranked.position,
        ranked.candidate,
        ranked.sieve,
        ranked.is_right
    from ranked
    where ranked.rule_place = 1
)

select
    taken.sequence,
    taken.document,
    taken.mention,
    taken.kind,
    taken.position,
    taken.baseline,
    taken.candidate,
    case taken.sieve when 1 then 'text' when 2 then 'head' when 3 then 'agreement' when 4 then 'any' end as sieve,
    taken.is_right,
    (select chosen_run.name from chosen_run) as run
from taken
order by
    taken.sequence,
    taken.mention,
    case taken.baseline when 'nearest' then 1 when 'head_match' then 2 else 3 end
