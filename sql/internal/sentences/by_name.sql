-- The sentences with an id (a number) or a name, in the order of the text; only those of one corpus if it is named.
select
    sentence.id,
    coalesce(sentence.name, place_name(sentence.id)) as name,
    corpus.id as corpus,
    corpus.name as corpus_name
from sentence
inner join document on document.id = sentence.document
inner join corpus on corpus.id = document.corpus
where ($corpus is null or corpus.name = $corpus or $ordinal is not null and cast(corpus.id as varchar) = $corpus)
    and ($id is null or sentence.id = $id)
    and ($ordinal is null or sentence.id = ((cast(corpus.id as bigint) - 1) << 40) + $ordinal)
    and ($name is null or sentence.name = $name)
order by sentence.id
