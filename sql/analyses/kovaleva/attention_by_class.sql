-- title: How much attention words of each class receive and give, by head
-- paper: Kovaleva et al. 2019, section 4.4 (attention to linguistic features)
-- grain: one row per (classification, class, layer, head)
-- formula: received(c) = mean over inputs of 1/|P_c| Σ_{j ∈ P_c} 1/n Σ_i α(i, j)
-- formula: given(c) = mean over inputs of 1/|P_c| Σ_{i ∈ P_c} 1/|W − {i}| Σ_{j ∈ W − {i}} α(i, j)
-- formula: chance(c) = mean over inputs of 1/n
-- formula: P_c are the positions of class c, W those of words (tokens); the means are over the inputs where P_c is
--   not empty
-- run: favours=pair/token
-- note: received is the mean weight on a position of the class, from every position of its input; given is the mean
--   weight from a position of the class to every other word (token), so that special tokens, which take most of many
--   heads, do not count. Means are taken within an input that has the class, then over those inputs.
-- note: Kovaleva et al. sum the weights on a token over all positions and divide by the length, as received does, but
--   take the largest where an input has several tokens of a class; received is their mean, which chance can be held
--   against. They have no measure like given. Their negation is a list of words (neither, nor, not, never, none, don't,
--   nothing, nowhere, ...).
-- note: chance is what uniform attention would give to any position: the mean of 1 / length over the same inputs.
-- note: named classes: noun (NOUN, PROPN), verb (VERB), pronoun (PRON), subject (nsubj, csubj, and those of passives),
--   object (obj, dobj, iobj), negation (relation neg, feature Polarity=Neg, or not, n't), and cls and sep by kind of
--   position. Where a corpus has no universal parts of speech, those of the Penn Treebank (NN.., VB.., PRP..) are read.
--   A piece of a word has the word's classes.
-- param classification varchar = null {upos, relation, class}: how words are classed; by default all three ways
-- param subtypes boolean = false: keep subtypes of relations (nmod:poss) instead of folding them (nmod)
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights that fits, of token pairs before others
-- column classification varchar: upos, relation or class (the named ones)
-- column class varchar: the part of speech, the relation or the name of the class
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column received double: mean weight on a position of the class
-- column given double: mean weight from a position of the class to another word (token); null where no input has
--   another
-- column chance double: what uniform attention would give
-- column positions bigint: positions of the class
-- column sequences bigint: inputs that have one
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(asked := $run, favours := 'pair/token') as chosen
),

placed as (
    select
        position.sequence,
        position.position,
        position.kind,
        cast(sequence.positions as double) as length,
        word.upos,
        case when $subtypes then word.deprel else without_subtype(word.deprel) end as relation,
        word.upos in ('NOUN', 'PROPN') or (word.upos is null and word.xpos like 'NN%') as is_noun,
        word.upos = 'VERB' or (word.upos is null and word.xpos like 'VB%') as is_verb,
        word.upos = 'PRON' or (word.upos is null and word.xpos like 'PRP%') as is_pronoun,
        word.deprel like 'nsubj%' or word.deprel like 'csubj%' as is_subject,
        without_subtype(word.deprel) in ('obj', 'dobj', 'iobj') as is_object,
        word.deprel = 'neg'
        or coalesce(word.feats, '') like '%Polarity=Neg%'
        or lower(word.form) in ('not', 'n''t', 'n’t') as is_negation
    from position
    inner join sequence on sequence.id = position.sequence
    inner join chosen_run on chosen_run.id = sequence.run
    left join word on word.id = position.word
),

member as (
    select placed.sequence, placed.position, placed.length, 'upos' as classification, placed.upos as class
    from placed
    where placed.upos is not null
    union all
    select placed.sequence, placed.position, placed.length, 'relation' as classification, placed.relation as class
    from placed
    where placed.relation is not null
    union all
    select placed.sequence, placed.position, placed.length, 'class' as classification, placed.kind as class
    from placed
    where placed.kind in ('cls', 'sep')
    union all
    select placed.sequence, placed.position, placed.length, 'class' as classification, 'noun' as class
    from placed
    where placed.is_noun
    union all
    select placed.sequence, placed.position, placed.length, 'class' as classification, 'verb' as class
    from placed
    where placed.is_verb
    union all
    select placed.sequence, placed.position, placed.length, 'class' as classification, 'pronoun' as class
    from placed
    where placed.is_pronoun
    union all
    select placed.sequence, placed.position, placed.length, 'class' as classification, 'subject' as class
    from placed
    where placed.is_subject
    union all
    select placed.sequence, placed.position, placed.length, 'class' as classification, 'object' as class
    from placed
    where placed.is_object
    union all
    select placed.sequence, placed.position, placed.length, 'class' as classification, 'negation' as class
    from placed
    where placed.is_negation
),

class as (
    select
        member.classification,
        member.class,
        row_number() over (order by member.classification, member.class) as number,
        count(*) as positions,
        count(distinct member.sequence) as sequences
    from member
    where $classification is null or member.classification = $classification
    group by member.classification, member.class
),

share as (
    select
        member.sequence,
        member.position,
        member.length,
        class.number,
        cast(1 as double) / count(*) over (partition by member.sequence, class.number) as share
    from member
    inner join class
        on class.classification = member.classification
        and class.class = member.class
),

received as (
    select
        attention_weight.sequence,
        attention_weight.layer,
        attention_weight.head,
        attention_weight.to_position as position,
        sum(cast(attention_weight.weight as double)) as weight
    from attention_weight
    inner join sequence on sequence.id = attention_weight.sequence
    inner join chosen_run on chosen_run.id = sequence.run
    group by
        attention_weight.sequence,
        attention_weight.layer,
        attention_weight.head,
        attention_weight.to_position
),

given as (
    select
        attention.sequence,
        attention.layer,
        attention.head,
        attention.from_position as position,
        case
            when is_place_in(attention.from_position, placement.words)
                then weight_on(attention.weights, placement.words)
                    - weight_at(attention.weights, attention.from_position)
            else weight_on(attention.weights, placement.words)
        end as weight,
        place_count(placement.words)
        - case when is_place_in(attention.from_position, placement.words) then 1 else 0 end as others
    from chosen_run
    inner join placement on placement.run = chosen_run.id
    inner join attention on attention.sequence = placement.sequence
),

total_received as (
    select
        share.number,
        received.layer,
        received.head,
        sum(share.share * received.weight / share.length) as weight,
        sum(share.share / share.length) as chance
    from received
    inner join share
        on share.sequence = received.sequence
        and share.position = received.position
    group by share.number, received.layer, received.head
),

total_given as (
    select
        share.number,
        given.layer,
        given.head,
        sum(share.share * given.weight / given.others) as weight,
        sum(share.share) as sequences
    from given
    inner join share
        on share.sequence = given.sequence
        and share.position = given.position
    where given.others > 0
    group by share.number, given.layer, given.head
)

select
    class.classification,
    class.class,
    total_received.layer,
    total_received.head,
    total_received.weight / class.sequences as received,
    total_given.weight / total_given.sequences as given,
    total_received.chance / class.sequences as chance,
    class.positions,
    class.sequences,
    (select chosen_run.name from chosen_run) as run
from total_received
inner join class on class.number = total_received.number
left join total_given
    on total_given.number = total_received.number
    and total_given.layer = total_received.layer
    and total_given.head = total_received.head
order by class.classification, class.class, total_received.layer, total_received.head
