-- The positions of one input: one row per word, with its annotation, or per special token.
select
    position.position, position.kind,
    case when position.kind = 'token' then plain_text(position.text) else position.text end as text,
    word.id as word,
    word.sentence, word.index, word.form,
    gold_head.id as head_word,
    word.head_index,
    word.deprel as relation,
    word.upos
from position
left join word_position
    on word_position.sequence = position.sequence
    and word_position.position = position.position
left join word on word.id = word_position.word
left join word as gold_head
    on gold_head.sentence = word.sentence
    and gold_head.index = word.head_index
where position.sequence = $sequence
order by position.position, word.id
