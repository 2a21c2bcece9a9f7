-- The inputs of a run that hold words of some sentences, of each the one with most of its words first.
with sentence_length as (
    select sentence, count(*) as all_words
    from word
    where sentence in (select unnest($sentences))
    group by sentence
)

select
    word.sentence,
    sequence.id as sequence,
    sequence.positions,
    count(distinct word_position.word) as words,
    sentence_length.all_words
from sequence
inner join word_position on word_position.sequence = sequence.id
inner join word on word.id = word_position.word
inner join sentence_length on sentence_length.sentence = word.sentence
where sequence.run = $run
group by word.sentence, sequence.id, sequence.positions, sentence_length.all_words
order by word.sentence, words desc, sequence.id
