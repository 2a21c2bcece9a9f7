-- What contradicts itself in the text of the attached source $source, whose documents are in merge_extent.
with

own as (
    select merge_extent.*
    from merge_extent
    where merge_extent.source = $source
),

placed as (
    select
        count(*) as documents, coalesce(sum(own.sentences), 0) as sentences,
        coalesce(sum(own.words), 0) as words, coalesce(sum(own.mentions), 0) as mentions,
        count(distinct (own.corpus, own.index)) as places
    from own
),

counted as (
    select 'document' as name, count(*) as rows, (select documents from placed) as placed
    from source.main.document
    union all
    select 'sentence', count(*), (select sentences from placed)
    from source.main.sentence
    union all
    select 'word', count(*), (select words from placed)
    from source.main.word
    union all
    select 'mention', count(*), (select mentions from placed)
    from source.main.mention
)

select 'its table ' || counted.name || ' has orphaned or duplicate rows' as reason
from counted
where counted.rows <> counted.placed
union all
select 'two documents of a corpus have the same place (document.index)'
from placed
where placed.places <> placed.documents
union all
select 'the ids of document ' || own.index || ' are not consecutive'
from own
where
    own.last_sentence - own.first_sentence + 1 <> own.sentences
    or own.last_word - own.first_word + 1 <> own.words
    or own.last_mention - own.first_mention + 1 <> own.mentions
    or own.last_entity - own.first_entity + 1 <> own.entities
    or own.least_word < own.first_word or own.largest_word > own.last_word
    or own.least_word is not null and own.first_word is null
union all
select 'its table departure has rows that belong to no sentence'
from source.main.departure
where departure.sentence not in (select sentence.id from source.main.sentence)
union all
select 'its table enhanced_dependency has rows that belong to no sentence'
from source.main.enhanced_dependency
where enhanced_dependency.sentence not in (select sentence.id from source.main.sentence)
union all
select 'its table constituent has rows that belong to no sentence'
from source.main.constituent
where constituent.sentence not in (select sentence.id from source.main.sentence)
limit 1
