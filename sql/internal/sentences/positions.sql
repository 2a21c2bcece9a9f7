-- The positions of some inputs of a run: a row per word, with its annotation and its surprisal, or per special token.
with measured_word as (
    select surprisal.word, min(surprisal.nats) as surprisal
    from sequence
    inner join word_position on word_position.sequence = sequence.id
    inner join surprisal
        on surprisal.run = sequence.run
        and surprisal.word = word_position.word
    where sequence.id in (select unnest($sequences))
    group by surprisal.word
)

select
    position.sequence, position.position, position.kind,
    case when position.kind = 'token' then plain_text(position.text) else position.text end as text,
    word.id as word,
    word.sentence, word.index, word.form,
    gold_head.id as head_word,
    word.head_index,
    word.deprel as relation,
    word.upos,
    measured_word.surprisal
from position
left join word_position
    on word_position.sequence = position.sequence
    and word_position.position = position.position
left join word on word.id = word_position.word
left join word as gold_head
    on gold_head.sentence = word.sentence
    and gold_head.index = word.head_index
left join measured_word on measured_word.word = word.id
where position.sequence in (select unnest($sequences))
order by position.sequence, position.position, word.id
