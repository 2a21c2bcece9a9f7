-- Contradictions in the inputs of the runs of a bank and in their positions.
with words_of_document as (
    select sentence.document, min(word.id) as first_word, max(word.id) as last_word
    from word
    inner join sentence on sentence.id = word.sentence
    group by all
),

-- Of each position of words the first and the last word, and the last one before it in the same input.
placed_word as (
    select
        position.sequence,
        position.word as first_word,
        coalesce(position.last_word, position.word) as last_word,
        max(coalesce(position.last_word, position.word)) over (
            partition by position.sequence order by position.position
            rows between unbounded preceding and 1 preceding
        ) as word_before
    from position
    where position.word is not null or position.last_word is not null
),

words_of_sequence as (
    select
        sequence, min(first_word) as first_word, max(last_word) as last_word,
        count(*) <> count(first_word) or bool_or(last_word < first_word) or bool_or(first_word < word_before)
            as is_out_of_order,
        bool_or(first_word = word_before) as has_repeated_word
    from placed_word
    group by all
),

positions_of_sequence as (
    select
        sequence, count(*) as positions, count(distinct position) as places,
        min(position) as first_position, max(position) as last_position
    from position
    group by all
),

-- An input's id ends like that of its sentence, or of its first word where it has no sentence.
checked_sequence as (
    select
        sequence.id, sequence.run, sequence.document, sequence.sentence, sequence.positions,
        sequence.id - ((sequence.id >> 40) << 40) as ordinal,
        words_of_sequence.first_word, words_of_sequence.last_word,
        words_of_sequence.is_out_of_order or words_of_sequence.has_repeated_word and run.unit = 'word'
            as is_out_of_order,
        run.corpus,
        coalesce(sequence.sentence, words_of_sequence.first_word) as named_after
    from sequence
    inner join run on run.id = sequence.run
    left join words_of_sequence on words_of_sequence.sequence = sequence.id
)

select 'its table sequence has ids twice' as reason
from sequence
having count(*) <> count(distinct id)
union all
select 'the id of the input ' || id || ' is that of another run'
from sequence
where id >> 40 <> run - 1
union all
select 'its table position has rows that belong to no input'
from positions_of_sequence
where sequence not in (select id from sequence)
union all
select 'the input ' || sequence.id || ' does not have the ' || sequence.positions || ' positions that it should have'
from sequence
left join positions_of_sequence on positions_of_sequence.sequence = sequence.id
where
    sequence.positions < 1
    or coalesce(positions_of_sequence.places, 0) <> sequence.positions
    or positions_of_sequence.positions <> sequence.positions
    or positions_of_sequence.first_position <> 0
    or positions_of_sequence.last_position <> sequence.positions - 1
union all
select 'the input ' || id || ' is of another corpus than its run'
from checked_sequence
where document >> 40 <> corpus - 1
union all
select 'a position of the input ' || checked_sequence.id || ' has a word of another document'
from checked_sequence
left join words_of_document on words_of_document.document = checked_sequence.document
where
    checked_sequence.first_word is not null and not coalesce(
        checked_sequence.first_word >= words_of_document.first_word
        and checked_sequence.last_word <= words_of_document.last_word,
        false
    )
union all
select 'the words of the input ' || id || ' are not in the order of the text'
from checked_sequence
where is_out_of_order
union all
select 'a position of the input ' || placed_word.sequence || ' has words of two sentences'
from placed_word
inner join word as first_word on first_word.id = placed_word.first_word
inner join word as last_word on last_word.id = placed_word.last_word
where placed_word.first_word <> placed_word.last_word and first_word.sentence <> last_word.sentence
union all
select 'the input ' || checked_sequence.id || ' has words of another sentence than its own'
from checked_sequence
left join word as first_word on first_word.id = checked_sequence.first_word
left join word as last_word on last_word.id = checked_sequence.last_word
where first_word.sentence <> checked_sequence.sentence or last_word.sentence <> checked_sequence.sentence
union all
select 'the id of the input ' || id || ' is not that of its place in its corpus'
from checked_sequence
where ordinal <> named_after - ((named_after >> 40) << 40)
limit 1
