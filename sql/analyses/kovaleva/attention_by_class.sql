-- title: How much attention words of each class receive and give, by head
-- paper: Kovaleva et al. 2019, section 4.4 (attention to linguistic features)
-- grain: one row per (classification, class, layer, head)
-- formula: received(c) = mean over inputs of 1/|P_c| Σ_{j ∈ P_c} 1/n Σ_i α(i, j)
-- formula: given(c) = mean over inputs of 1/|O_c| Σ_{i ∈ O_c} 1/|W_i| Σ_{j ∈ W_i} α(i, j)
-- formula: chance(c) = mean over inputs of 1/n, or of a causal model of 1/|P_c| Σ_{j ∈ P_c} 1/n Σ_{i ≥ j} 1/i
-- formula: P_c are the positions of class c, W_i those of the other words (tokens), of a causal model of those before
--   i, and O_c ⊆ P_c those whose W_i is not empty; the means are over the inputs where P_c (O_c) is not empty
-- run: needs=shares favours=pair/token
-- plot: grid x=layer,head y=class color=received,given panel=classification scale=sqrt
-- caption received: Weight that a word of the class receives
-- caption given: Weight that a word of the class gives
-- note: given leaves out special tokens, which take most of many heads.
-- note: Kovaleva et al. sum the weights on a token over all positions and divide by the length, as received does, but
--   take the largest where an input has several tokens of a class; received is their mean, which chance can be held
--   against. They have no measure like given. Their negation is a list of words (neither, nor, not, never, none, don't,
--   nothing, nowhere, ...).
-- note: a sliding window (model.sliding_window) is ignored: in inputs longer than it chance is that of full sight.
-- note: a first word that is set apart (run.first_word) is the class first, and in no class of words.
-- note: named classes: noun (NOUN, PROPN), verb (VERB), pronoun (PRON), subject (nsubj, csubj, and those of passives),
--   object (obj, dobj, iobj), negation (relation neg, feature Polarity=Neg, or not, n't), and cls, sep and first by
--   kind of position. Where a corpus has no universal parts of speech, those of the Penn Treebank (NN.., VB.., PRP..)
--   are read. A piece of a word has the word's classes; a position of several words, a multiword token that is read as
--   written, those of each.
-- param classification varchar = null {upos, relation, class}: how words are classed; by default all three ways
-- param subtypes boolean = false: keep subtypes of relations (nmod:poss) instead of folding them (nmod)
-- column classification varchar: upos, relation or class: the named ones
-- column class varchar: the part of speech, the relation or the name of the class
-- column layer, head
-- column received double: mean weight on a position of the class
-- column given double: mean weight from a position of the class to another word (token); null without another
-- column chance double: what uniform attention would give: in a causal model more to early positions
-- column positions bigint: positions of the class
-- column sequences bigint: inputs that have one
-- column run

-- Two words of one position may be of one class.
with word_class as (
    select
        position.sequence, position.position,
        cast(sequence.positions as double) as length,
        unnest([
            {'classification': 'upos', 'class': word.upos},
            {'classification': 'relation', 'class': case
                when $subtypes then word.deprel else without_subtype(word.deprel)
            end},
            {'classification': 'class', 'class': case
                when position.kind in ('cls', 'sep', 'first') then position.kind
            end},
            {'classification': 'class', 'class': case
                when word.upos in ('NOUN', 'PROPN') or (word.upos is null and word.xpos like 'NN%') then 'noun'
                when word.upos = 'VERB' or (word.upos is null and word.xpos like 'VB%') then 'verb'
                when word.upos = 'PRON' or (word.upos is null and word.xpos like 'PRP%') then 'pronoun'
            end},
            {'classification': 'class', 'class': case
                when word.deprel like 'nsubj%' or word.deprel like 'csubj%' then 'subject'
                when without_subtype(word.deprel) in ('obj', 'dobj', 'iobj') then 'object'
            end},
            {'classification': 'class', 'class': case
                when word.deprel = 'neg'
                    or word.feats like '%Polarity=Neg%'
                    or lower(word.form) in ('not', 'n''t', 'n’t')
                    then 'negation'
            end}
        ]) as member
    from position
    inner join sequence on sequence.id = position.sequence
    inner join chosen_run on chosen_run.id = sequence.run
    left join word_position
        on word_position.sequence = position.sequence
        and word_position.position = position.position
        and position.kind <> 'first'
    left join word on word.id = word_position.word
),

class_member as (
    select distinct sequence, position, length, member.classification as classification, member.class as class
    from word_class
    where member.class is not null
),

class as (
    select
        classification, class,
        cast(row_number() over (order by classification, class) as smallint) as number,
        count(*) as positions,
        count(distinct sequence) as sequences
    from class_member
    where $classification is null or classification = $classification
    group by classification, class
),

input as materialized (
    select
        placement.sequence, placement.positions,
        place_count(placement.words) as n_words,
        mask_of(placement.words, placement.positions) as words,
        chosen_run.is_causal
    from placement
    inner join chosen_run on chosen_run.id = placement.run
),

class_position as (
    select
        class_member.sequence, class_member.position, class_member.length, class.number,
        case
            when input.is_causal then weight_on(input.words, range(1, cast(class_member.position as bigint) + 1))
            else input.n_words - weight_at(input.words, class_member.position)
        end as others,
        case
            when input.is_causal then harmonic(class_member.length) - harmonic(class_member.position)
            else cast(1 as double)
        end as even,
        cast(1 as double) / count(*) over (partition by class_member.sequence, class.number) as share
    from class_member
    inner join class
        on class.classification = class_member.classification
        and class.class = class_member.class
    inner join input using (sequence)
),

-- What a weight counts in the mean of its class: divided here, once for each position, and not again for every head.
position_share as materialized (
    select
        sequence, position, number,
        share / length as received,
        share / length * even as chance,
        case when others > 0 then cast(1 as double) / others end
        / sum(case when others > 0 then 1 else 0 end) over (partition by sequence, number) as given,
        case when others > 0 then sequence end as sequence_with_others
    from class_position
),

class_total as (
    select number, sum(chance) as chance, count(distinct sequence_with_others) as sequences_with_others
    from position_share
    group by all
),

map_position as (
    select
        attention_map.sequence, attention_map.layer, attention_map.head, attention_map.received, attention_map.given,
        unnest(range(0, cast(input.positions as integer))) as position
    from attention_map
    inner join input using (sequence)
),

position_weight as (
    select
        sequence, layer, head,
        cast(position as smallint) as position,
        weight_at(received, position) as received,
        weight_at(given, position) as given
    from map_position
),

per_class_and_head as (
    select
        position_share.number, position_weight.layer, position_weight.head,
        sum(position_share.received * position_weight.received) as received,
        sum(position_share.given * position_weight.given) as given
    from position_weight
    inner join position_share using (sequence, position)
    group by all
)

select
    class.classification, class.class, per_class_and_head.layer, per_class_and_head.head,
    per_class_and_head.received / class.sequences as received,
    per_class_and_head.given / class_total.sequences_with_others as given,
    class_total.chance / class.sequences as chance,
    class.positions, class.sequences,
    (select name from chosen_run) as run
from per_class_and_head
inner join class on class.number = per_class_and_head.number
inner join class_total on class_total.number = per_class_and_head.number
order by class.classification, class.class, per_class_and_head.layer, per_class_and_head.head
