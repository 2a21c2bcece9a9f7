-- Contradictions in the inputs of the runs of a bank and in their positions.
with words_of_document as (
    select sentence.document, min(word.id) as first_word, max(word.id) as last_word
    from word
    inner join sentence on sentence.id = word.sentence
    group by all
),

positions_of_sequence as (
    select
        sequence, count(*) as positions, count(distinct position) as places,
        min(position) as first_position, max(position) as last_position,
        min(least(word, last_word)) as least_word,
        max(greatest(word, last_word)) as largest_word
    from position
    group by all
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
select 'a position of the input ' || sequence.id || ' has a word of another document'
from sequence
inner join positions_of_sequence on positions_of_sequence.sequence = sequence.id
left join words_of_document on words_of_document.document = sequence.document
where
    positions_of_sequence.least_word is not null and not coalesce(
        positions_of_sequence.least_word >= words_of_document.first_word
        and positions_of_sequence.largest_word <= words_of_document.last_word,
        false
    )
limit 1
