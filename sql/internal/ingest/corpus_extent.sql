-- How many sentences and words a corpus has, and the ids of its first and last sentence.
select
    count(*) as sentences,
    cast(coalesce(sum(sentence.words), 0) as bigint) as words,
    coalesce(min(sentence.id), 1) as first,
    coalesce(max(sentence.id), 0) as last
from sentence
inner join document on document.id = sentence.document
where document.corpus = $corpus
