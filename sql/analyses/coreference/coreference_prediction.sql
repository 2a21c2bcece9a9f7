-- title: The antecedent that each head predicts for each mention
-- paper: Clark et al. 2019, section 4.3
-- grain: one row per (mention with an antecedent in its input, layer, head)
-- formula: predicted_position_h(m) = argmax_{c ∈ C(m)} α(w(m), c), where w(m) is the position of the mention's head
--   word and C(m) are those of its candidates (mentions), or all other words (words)
-- formula: is_right = [predicted_position_h(m) ∈ A(m)], A(m) the positions of its antecedents' head words
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- weights: $candidates = 'mentions'
-- empty: no mention of the run has an antecedent in its own input
-- note: ties go to the leftmost candidate. The paper does not say what the candidates are: mentions takes the head words
--   of the mentions that start earlier, words every other word of the input, later ones and punctuation too.
-- note: a head that attends to no candidate at all (all weights are 0) predicts nothing and is wrong.
-- param candidates
-- param layer smallint = null: only this layer
-- param head smallint = null: only the head of this number in its layer
-- param singletons
-- column sequence, document, mention, kind, position, layer, head
-- column predicted_position smallint: position that the head predicts; null if it predicts none
-- column is_right boolean: whether the head word of an antecedent is there
-- column run

-- One row per sequence, and out of it its mentions again: an engine that expects too many of them puts the
-- weights, not the mentions, into the hash table of the join below, which takes four times as long.
with mentions_of_sequence as (
    select
        sequence,
        list({
            'document': document, 'mention': mention, 'kind': kind, 'position': position,
            'antecedent_positions': antecedent_positions, 'candidate_positions': candidate_positions
        }) as mentions
    from coreference_mention(singletons := $singletons, run := $run) as mention
    group by all
),

anaphor as (
    select sequence, unnest(mentions) as mention
    from mentions_of_sequence
),

prediction as (
    select
        anaphor.*,
        distribution.layer, distribution.head,
        argmax_position(
            anaphor.mention.candidate_positions, weights_at(distribution.weights, anaphor.mention.candidate_positions)
        ) as predicted_position
    from anaphor
    inner join distribution
        on distribution.sequence = anaphor.sequence
        and distribution.from_position = anaphor.mention.position
    where $candidates = 'mentions'
        and ($layer is null or distribution.layer = $layer)
        and ($head is null or distribution.head = $head)
    union all
    -- Of all other words: the antecedents' heads are among them, the own head word is not.
    select anaphor.*, peak.layer, peak.head, peak.most_attended as predicted_position
    from anaphor
    inner join peak
        on peak.sequence = anaphor.sequence
        and peak.position = anaphor.mention.position
    where $candidates = 'words'
        and ($layer is null or peak.layer = $layer)
        and ($head is null or peak.head = $head)
)

select
    sequence,
    mention.document as document,
    mention.mention as mention,
    mention.kind as kind,
    mention.position as position,
    layer, head, predicted_position,
    coalesce(list_contains(mention.antecedent_positions, predicted_position), false) as is_right,
    (select name from chosen_run) as run
from prediction
order by sequence, mention.mention, layer, head
