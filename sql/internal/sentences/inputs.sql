-- The inputs of a run that hold words of one sentence, the one with most of them first.
select
    sequence.id as sequence,
    sequence.positions,
    count(distinct word_position.word) as words,
    (select count(*) from word where sentence = $sentence) as all_words
from sequence
inner join word_position on word_position.sequence = sequence.id
inner join word on word.id = word_position.word
where sequence.run = $run
    and word.sentence = $sentence
group by sequence.id, sequence.positions
order by words desc, sequence.id
