-- title: Figure 1 from the bank: the head with the strongest surface pattern of each kind, on one sentence
-- paper: Clark et al. 2019, section 3, figure 1
-- grain: one row per pattern
-- formula: head*(p) = argmax_h value_p(h), where value is entropy (broad), previous, next, cls, sep, punctuation or
--   first of the analyses of these names
-- run: needs=sums favours=pair/token
-- plot: sentences label=pattern,value
-- note: with the defaults of entropy, relative_position and special_tokens. A pattern that no head of the model can
--   show ([SEP] of a decoder, what follows of a causal model) has no row.
-- note: the sentence is the one of 8 to 14 words that has a comma and is nearest to ten words, the first of equals;
--   where there is none, the one nearest to ten words. The paper chose its examples by hand.
-- column pattern varchar: broad, previous, next, cls, sep, punctuation or first
-- column layer, head
-- column value double: how much the head shows it: entropy in nats for broad, else mean weight, in [0, 1]
-- column sentence, sent_id, run
with head_value as (
    select
        breadth.layer, breadth.head,
        unnest([
            {'place': 1, 'pattern': 'broad', 'value': breadth.entropy},
            {'place': 2, 'pattern': 'previous', 'value': relative.previous},
            {'place': 3, 'pattern': 'next', 'value': case when not chosen_run.is_causal then relative.next end},
            {'place': 4, 'pattern': 'cls', 'value': special.cls},
            {'place': 5, 'pattern': 'sep', 'value': special.sep},
            {'place': 6, 'pattern': 'punctuation', 'value': special.punctuation},
            {'place': 7, 'pattern': 'first', 'value': special.first}
        ]) as entry
    from entropy(run := $run) as breadth
    inner join relative_position(run := $run) as relative using (layer, head)
    inner join special_tokens(run := $run) as special using (layer, head)
    cross join chosen_run
),

strongest as (
    select layer, head, entry
    from head_value
    where entry.value is not null
    qualify row_number() over (partition by entry.pattern order by entry.value desc, layer, head) = 1
),

sentence_size as (
    select word.sentence, count(distinct word.id) as words, count(*) filter (where word.form = ',') as commas
    from word_position
    inner join sequence on sequence.id = word_position.sequence
    inner join chosen_run on chosen_run.id = sequence.run
    inner join word on word.id = word_position.word
    group by all
),

example as (
    select sentence.id, sentence.name
    from sentence_size
    inner join sentence on sentence.id = sentence_size.sentence
    order by
        case when sentence_size.commas > 0 and sentence_size.words between 8 and 14 then 0 else 1 end,
        abs(sentence_size.words - 10),
        sentence.id
    limit 1
)

select
    strongest.entry.pattern as pattern,
    strongest.layer, strongest.head,
    strongest.entry.value as value,
    example.id as sentence,
    example.name as sent_id,
    (select name from chosen_run) as run
from strongest
cross join example
order by strongest.entry.place
