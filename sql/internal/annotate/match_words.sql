-- The word that each row of the file (annotated_row) refers to, or the reason why there is none; only words of the
-- corpus $corpus, unless that is null.
create or replace temp table annotated_word as
with known_sentence as (
    select sentence.id, sentence.name, document.name as document
    from sentence
    inner join document on document.id = sentence.document
    where $corpus is null or document.corpus = $corpus
),

-- The sentences of a name, within a document where the file has a column of documents.
named_sentence as (
    select name, case when $by_document then document end as document, min(id) as id, count(*) as sentences
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
placed_row as (
    select
        annotated_row.n, annotated_row.form,
        try_cast(regexp_extract(trim(annotated_row.word_number), '^([0-9]+)(\.0*)?$', 1) as bigint) as number,
        case when $by_id then 0 else named_sentence.id end as sentence,
        coalesce(named_sentence.sentences, 0) as sentences
    from annotated_row
    left join named_sentence
        on named_sentence.name = annotated_row.sent_id
        and named_sentence.document is not distinct from annotated_row.document
)

select
    placed_row.n,
    keyed_word.id as word,
    keyed_word.form as known_form,
    case
        when not $by_id and placed_row.sentences = 0 then 'sentence'
        when not $by_id and placed_row.sentences > 1 then 'sentences'
        when keyed_word.id is null then 'word'
        when $by_form and placed_row.form is distinct from keyed_word.form then 'form'
    end as fault
from placed_row
left join keyed_word using (sentence, number)
