-- The word that each row of the file (annotated_row) refers to, or the reason why there is none; only words of the
-- corpus $corpus, unless that is null.
create or replace temp table annotated_word as
with

known_sentence as (
    select
        sentence.id, sentence.name,
        document.name as document
    from sentence
    inner join document on document.id = sentence.document
    where $corpus is null or document.corpus = $corpus
),

-- The sentences of a name, within a document where the file has a column of documents.
named_sentence as (
    select
        name,
        case when $by_document then document end as document,
        min(id) as id,
        count(*) as sentences
    from known_sentence
    where name is not null
    group by all
),

-- The key by which a row refers to a word: its id alone, or its sentence and its place there.
keyed_word as (
    select
        word.id, word.form,
        case when $by_id then 0 else word.sentence end as sentence,
        case when $by_id then word.id else word.index end as number
    from word
    inner join known_sentence on known_sentence.id = word.sentence
),

-- Numbers as text: 3, or 3.0 where a program kept whole numbers beside missing ones.
numbered_row as (
    select
        n, sent_id, document, form,
        try_cast(regexp_extract(trim(word_number), '^([0-9]+)(\.0*)?$', 1) as bigint) as number
    from annotated_row
),

placed_row as (
    select
        numbered_row.n, numbered_row.form, numbered_row.number,
        case when $by_id then 0 else named_sentence.id end as sentence,
        coalesce(named_sentence.sentences, 0) as sentences
    from numbered_row
    left join named_sentence
        on named_sentence.name = numbered_row.sent_id
        and named_sentence.document is not distinct from numbered_row.document
),

matched_row as (
    select
        placed_row.n, placed_row.form, placed_row.sentences,
        keyed_word.id as word,
        keyed_word.form as known_form
    from placed_row
    left join keyed_word
        on keyed_word.sentence = placed_row.sentence
        and keyed_word.number = placed_row.number
)

select
    n, word, known_form,
    case
        when not $by_id and sentences = 0 then 'sentence'
        when not $by_id and sentences > 1 then 'sentences'
        when word is null then 'word'
        when $by_form and form is distinct from known_form then 'form'
    end as fault
from matched_row
