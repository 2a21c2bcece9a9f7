-- The tokens of some sentences as written, in order: each word, and each multiword token that its words do not spell.
select
    word.sentence, word.index,
    coalesce(token.form, word.form) as form,
    coalesce(last_part.space_after, word.space_after) as space_after,
    coalesce(last_part.index, word.index) as last_index
from word
left join multiword_token as token
    on token.sentence = word.sentence
    and token.token_start = word.token_start
    and not token.is_spelled
left join word as last_part on last_part.id = token.last_word
where word.sentence in (select unnest($sentences))
    and (token.first_word is null or token.first_word = word.id)
order by word.sentence, word.index
