-- A multiword token of a corpus that its words do not spell; no row where they spell every one.
select token.first_word
from multiword_token as token
inner join sentence on sentence.id = token.sentence
inner join document on document.id = sentence.document
where document.corpus = $corpus
    and not token.is_spelled
limit 1
