-- The relations that words of a corpus (null: of all of them) have to their heads, subtypes kept.
select word.deprel as relation
from word
inner join sentence on sentence.id = word.sentence
inner join document on document.id = sentence.document
where ($corpus is null or document.corpus = $corpus)
    and word.head_index > 0
    and word.deprel is not null
group by all
order by word.deprel
