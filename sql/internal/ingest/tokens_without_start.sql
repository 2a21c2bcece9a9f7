-- A word of a corpus whose multiword token has no known first word; no row if all have one.
select word.id
from word
inner join sentence on sentence.id = word.sentence
inner join document on document.id = sentence.document
where document.corpus = $corpus
    and word.surface is not null
    and word.token_start is null
limit 1
