-- The concordance of hits, in their order: the text left and right of each on the page, of up to $context tokens (null:
-- all), between them the hit with its words in brackets, and the forms of these words. A hit has a part in each sentence
-- with words of it; $hits, $sentences and $words (lists of word.index, 0 for none) have an entry for each part. A hit
-- without words is its whole sentence. Words that do not spell their multiword token are shown as that.
with part as (
    select
        list_extract($hits, entry) as number,
        list_extract($sentences, entry) as sentence,
        list_extract(cast($words as smallint[][]), entry) as words
    from (select unnest(range(1, len($hits) + 1)) as entry) as item
),

sentence_tokens as (
    select
        word.sentence,
        list_sort(list({
            'index': word.index,
            'last_index': coalesce(last_part.index, word.index),
            'form': coalesce(token.form, word.form),
            'gap': case when coalesce(last_part.space_after, word.space_after) then ' ' else '' end
        })) as tokens
    from word
    left join multiword_token as token
        on token.sentence = word.sentence
        and token.token_start = word.token_start
        and not token.is_spelled
    left join word as last_part on last_part.id = token.last_word
    where word.sentence in (select sentence from part)
        and (token.first_word is null or token.first_word = word.id)
    group by word.sentence
),

-- The places of the words among the tokens of their sentence.
placed_part as (
    select
        part.number, part.sentence,
        coalesce(sentence_tokens.tokens, []) as tokens,
        list_transform(
            part.words,
            lambda word: list_position(
                list_transform(
                    sentence_tokens.tokens, lambda token: word between token.index and token.last_index
                ),
                true
            )
        ) as places
    from part
    left join sentence_tokens using (sentence)
),

marked_part as (
    select
        number, sentence,
        coalesce(list_min(places), 1) as first_place,
        coalesce(list_max(places), len(tokens)) as last_place,
        list_transform(
            range(1, len(tokens) + 1),
            lambda place: case
                when list_contains(places, place) then '[' || list_extract(tokens, place).form || ']'
                else list_extract(tokens, place).form
            end || list_extract(tokens, place).gap
        ) as texts,
        list_transform(places, lambda place: list_extract(tokens, place).form) as forms
    from placed_part
),

part_text as (
    select
        number, sentence, forms,
        list_select(texts, range(greatest(first_place - $context, 1), first_place)) as before,
        list_select(texts, range(first_place, last_place + 1)) as matched,
        list_select(texts, range(last_place + 1, least(last_place + $context, len(texts)) + 1)) as after
    from marked_part
),

line as (
    select
        number,
        trim(array_to_string(arg_min(before, sentence), '')) as before,
        string_agg(trim(array_to_string(matched, '')), ' … ' order by sentence) as matched,
        trim(array_to_string(arg_max(after, sentence), '')) as after,
        arg_min(forms, sentence) as forms
    from part_text
    group by number
),

-- A hit whose first letter runs from right to left has what follows it on its left.
turned_line as (
    select
        *,
        regexp_matches(
            matched,
            '^[^A-Za-z\x{c0}-\x{58f}\x{900}-\x{1fff}\x{2c00}-\x{d7ff}]*'
            || '[\x{590}-\x{5ff}\x{61b}-\x{65f}\x{66d}-\x{6ef}\x{6fa}-\x{8ff}'
            || '\x{fb1d}-\x{fdff}\x{fe70}-\x{fefc}\x{10800}-\x{10fff}\x{1e800}-\x{1efff}]'
        ) as is_turned
    from line
)

select
    case when is_turned then after else before end as left,
    matched as hit,
    case when is_turned then before else after end as right,
    forms
from turned_line
order by number
