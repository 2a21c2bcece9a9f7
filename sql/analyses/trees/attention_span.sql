-- title: The phrases that are split from attention, and whether the annotation has them
-- paper: Kim et al. 2020 (Are pre-trained language models aware of phrases?), section 3
-- grain: one row per phrase of a sentence, outer ones first
-- formula: split after argmax_i δ(α(w_i, ·), α(w_{i+1}, ·)), and so on in both parts, where δ is the distance
-- run: unit=word needs=spans usual=sentence
-- empty: no phrases were split in this way (attnbank compute attention_span --distance DISTANCE)
-- note: by default of the mean of all heads; constituent_accuracy says which source finds most.
-- param distance varchar = 'jensen_shannon' {jensen_shannon, hellinger}: how unlike two distributions are
-- param source varchar = 'all' {head, layer, all}: whose attention
-- param layer smallint = null: layer of a head, or of the mean of one
-- param head smallint = null: head in its layer
-- param sentence, run
-- column sentence, first_position, last_position
-- column phrase varchar: its words, as the positions have them
-- column is_constituent boolean: whether the annotation has a phrase of the same words
-- column source varchar: head, layer (mean) or all (mean)
-- column layer smallint: 1-based layer; null for all
-- column head smallint: 1-based head; null unless the source is one
-- column run
with phrase as (
    select
        sequence, sentence, source, layer, head,
        cast(list_extract(firsts, indexed_span.at) as smallint) as first_position,
        cast(list_extract(lasts, indexed_span.at) as smallint) as last_position
    from (
        select attention_span.*, unnest(range(1, len(attention_span.firsts) + 1)) as at
        from attention_span
        inner join chosen_run on chosen_run.id = attention_span.run
        where attention_span.distance = $distance
            and attention_span.source = $source
            and ($layer is null or attention_span.layer = $layer)
            and ($head is null or attention_span.head = $head)
            and ($sentence is null or attention_span.sentence = $sentence)
    ) as indexed_span
),

-- Distinct, since phrases of the same words, or of words that share positions, have the same positions.
gold_phrase as (
    select distinct
        first_place.sequence, constituent.sentence,
        first_place.position as first_position,
        last_place.position as last_position,
        true as is_constituent
    from constituent
    inner join word as first_word
        on first_word.sentence = constituent.sentence
        and first_word.index = constituent.first_index
    inner join word as last_word
        on last_word.sentence = constituent.sentence
        and last_word.index = constituent.last_index
    inner join word_position as first_place on first_place.word = first_word.id
    inner join word_position as last_place
        on last_place.word = last_word.id
        and last_place.sequence = first_place.sequence
    inner join sequence on sequence.id = first_place.sequence
    inner join chosen_run on chosen_run.id = sequence.run
),

phrase_text as (
    select
        phrase.sequence, phrase.sentence, phrase.source, phrase.layer, phrase.head, phrase.first_position,
        phrase.last_position,
        string_agg(position.text, ' ' order by position.position) as phrase
    from phrase
    inner join position
        on position.sequence = phrase.sequence
        and position.position between phrase.first_position and phrase.last_position
    group by all
)

select
    phrase_text.sentence, phrase_text.first_position, phrase_text.last_position, phrase_text.phrase,
    coalesce(gold_phrase.is_constituent, false) as is_constituent,
    phrase_text.source, phrase_text.layer, phrase_text.head,
    (select name from chosen_run) as run
from phrase_text
left join gold_phrase using (sequence, sentence, first_position, last_position)
order by
    phrase_text.sentence, phrase_text.layer, phrase_text.head, phrase_text.first_position,
    phrase_text.last_position desc
