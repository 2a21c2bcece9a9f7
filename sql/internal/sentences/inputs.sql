-- The inputs of a run that hold words of one sentence, the one with most of them first.
with

sentence_word as (
    select id
    from word
    where sentence = $sentence
)

select
    sequence.id as sequence,
    sequence.positions,
    count(distinct word_position.word) as words,
    (select count(*) from sentence_word) as all_words
from sequence
inner join word_position on word_position.sequence = sequence.id
inner join sentence_word on sentence_word.id = word_position.word
where sequence.run = $run
group by sequence.id, sequence.positions
order by words desc, sequence.id
