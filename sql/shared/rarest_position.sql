-- title: The positions of the rarest word of each input of a run
-- grain: one row per position; several where words are equally rare
-- note: head_function says which word is the rarest.
-- param run integer = null: run.id of the run
-- column sequence
-- column position smallint: 0-based place in the input
-- column chance double: share of the maxima that it would have if all positions were alike: 1 / their number, or of a
--   causal model, where a position has a share of the maxima of those that see it, more at the start of an input
with loaded_frequency as (
    select lower(form) as form, sum(frequency) as frequency
    from word_frequency
    group by all
),

-- All positions but [SEP], and how many of an input are before each.
input_position as materialized (
    select
        position.sequence, position.position, position.kind, position.text, position.word, position.last_word,
        row_number() over (partition by position.sequence order by position.position) - 1 as before,
        count(*) over (partition by position.sequence) as places
    from position
    inner join sequence on sequence.id = position.sequence
    where sequence.run = $run
        and position.kind <> 'sep'
),

-- Multiword tokens that the run reads as written: each is a form of its own, and its words are none.
whole_token as (
    select token.sentence, token.token_start, token.form
    from multiword_token as token
    inner join sentence on sentence.id = token.sentence
    inner join document on document.id = sentence.document
    inner join run using (corpus)
    where run.id = $run
        and run.multiword = 'written'
        and not token.is_spelled
),

-- Words that a piece of the tokenizer joins (--edges share).
shared_position as (
    select input_position.sequence, input_position.position, input_position.text
    from input_position
    inner join word on word.id = input_position.word
    left join whole_token
        on whole_token.sentence = word.sentence
        and whole_token.token_start = word.token_start
        and whole_token.form = input_position.text
    where input_position.kind = 'word'
        and input_position.last_word is not null
        and whole_token.form is null
),

text_form as (
    select lower(word.form) as form
    from word
    inner join sentence on sentence.id = word.sentence
    inner join document on document.id = sentence.document
    inner join run using (corpus)
    left join whole_token using (sentence, token_start)
    where run.id = $run
        and whole_token.form is null
        and word.id not in (
            select word_position.word
            from shared_position
            inner join word_position using (sequence, position)
        )
    union all
    select lower(form) as form from whole_token
    union all
    select lower(text) as form from shared_position
),

frequency as (
    select form, frequency from loaded_frequency
    union all
    select form, cast(count(*) as double) as frequency
    from text_form
    where not exists (select 1 from loaded_frequency)
    group by all
),

rarest as (
    select input_position.sequence, input_position.position, input_position.before, input_position.places
    from input_position
    inner join word on word.id = input_position.word
    left join frequency
        on frequency.form = lower(
            case
                when input_position.last_word is null then word.form
                when input_position.kind = 'word' then input_position.text
                else coalesce(word.surface, word.form)
            end
        )
    qualify rank() over (
        partition by input_position.sequence order by coalesce(frequency.frequency, cast(0 as double))
    ) = 1
)

select
    rarest.sequence, rarest.position,
    case when causality.is_causal then harmonic(rarest.places) - harmonic(rarest.before) else cast(1 as double) end
    / rarest.places as chance
from rarest
inner join run_causality() as causality on causality.run = $run
