-- title: Where each head looks for the antecedent of each mention
-- paper: Clark et al. 2019, section 4.3
-- grain: one row per (mention with an antecedent in its input, layer, head)
-- formula: predicted_position_h(m) = argmax_{c ∈ C(m)} α(w(m), c), where w(m) is the position of the mention's head
--   word and C(m) are those of its candidates (mentions), or all other words (words)
-- formula: is_right = [predicted_position_h(m) ∈ A(m)], where A(m) are the positions of the head words of its
--   antecedents
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- empty: no mention of the run has an antecedent in its own input
-- note: the prediction is the candidate that the mention's head word attends to most, the leftmost of equals. The
--   paper does not say what the candidates are: mentions takes the head words of the mentions that start earlier,
--   words every other word of the input, later ones and punctuation too.
-- note: a head that attends to no candidate at all (all weights are 0) predicts nothing and is wrong.
-- param candidates varchar = 'mentions' {mentions, words}: heads of earlier mentions, or all other words
-- param layer smallint = null: only this layer
-- param head smallint = null: only the head of this number in its layer
-- param singletons boolean = true: keep candidates whose entity has one mention only in the document; CoNLL-2012 marks none
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over documents
-- column sequence integer: sequence.id of the input
-- column document integer: document.id
-- column mention integer: mention.id
-- column kind varchar: pronoun, proper or nominal
-- column position smallint: position of its head word
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column predicted_position smallint: position that the head points at; null where it points nowhere
-- column is_right boolean: whether the head of an antecedent stands there
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', contexts := ['document', 'sentence'],
        needs := 'mentions', equipped := runs_with_mentions(), usual := 'document',
        reads_weights := $candidates = 'mentions'
    ) as chosen
),

-- One row per sequence, and out of it its mentions again: an engine that expects too many of them puts the
-- weights, not the mentions, into the hash table of the join below, which takes four times as long.
mentions_of_sequence as (
    select
        mention.sequence as sequence,
        list({
            'document': mention.document,
            'mention': mention.mention,
            'kind': mention.kind,
            'position': mention.position,
            'antecedent_positions': mention.antecedent_positions,
            'candidate_positions': mention.candidate_positions
        }) as mentions
    from coreference_mention(singletons := $singletons, run := $run) as mention
    group by mention.sequence
),

unpacked as (
    select
        mentions_of_sequence.sequence as sequence,
        unnest(mentions_of_sequence.mentions) as mention
    from mentions_of_sequence
),

sought as (
    select
        unpacked.sequence as sequence,
        unpacked.mention.document as document,
        unpacked.mention.mention as mention,
        unpacked.mention.kind as kind,
        unpacked.mention.position as position,
        unpacked.mention.antecedent_positions as antecedent_positions,
        unpacked.mention.candidate_positions as candidate_positions
    from unpacked
),

weighed as (
    select
        sought.sequence,
        sought.document,
        sought.mention,
        sought.kind,
        sought.position,
        sought.antecedent_positions,
        attention.layer,
        attention.head,
        sought.candidate_positions,
        weights_to(attention.weights, sought.candidate_positions) as weights
    from sought
    inner join attention
        on attention.sequence = sought.sequence
        and attention.from_position = sought.position
    where $candidates = 'mentions'
        and ($layer is null or attention.layer = $layer)
        and ($head is null or attention.head = $head)
),

predicted as (
    select
        weighed.sequence,
        weighed.document,
        weighed.mention,
        weighed.kind,
        weighed.position,
        weighed.antecedent_positions,
        weighed.layer,
        weighed.head,
        at_largest(weighed.candidate_positions, weighed.weights) as predicted_position
    from weighed
    union all
    select
        sought.sequence,
        sought.document,
        sought.mention,
        sought.kind,
        sought.position,
        sought.antecedent_positions,
        peak.layer,
        peak.head,
        -- Of all other words: the antecedents' heads are among them, the own head word is not.
        peak.most_attended as predicted_position
    from sought
    inner join peak
        on peak.sequence = sought.sequence
        and peak.position = sought.position
    where $candidates = 'words'
        and ($layer is null or peak.layer = $layer)
        and ($head is null or peak.head = $head)
)

select
    predicted.sequence,
    predicted.document,
    predicted.mention,
    predicted.kind,
    predicted.position,
    predicted.layer,
    predicted.head,
    predicted.predicted_position,
    coalesce(list_contains(predicted.antecedent_positions, predicted.predicted_position), false) as is_right,
    (select chosen_run.name from chosen_run) as run
from predicted
order by predicted.sequence, predicted.mention, predicted.layer, predicted.head
