-- The sentences of a corpus from $first to $last, each with its words in order.
select
    sentence.id, sentence.document,
    document.index as document_index,
    sentence.index, sentence.name,
    concat(document.file, ':', cast(sentence.line as varchar)) as place,
    list(word.id order by word.index) filter (where word.id is not null) as words,
    list(word.form order by word.index) filter (where word.id is not null) as forms,
    list(word.space_after order by word.index) filter (where word.id is not null) as spaces,
    list(word.surface order by word.index) filter (where word.id is not null) as surfaces,
    list(word.token_start order by word.index) filter (where word.id is not null) as token_starts
from sentence
inner join document on document.id = sentence.document
left join word on word.sentence = sentence.id
where sentence.id between $first and $last
    and document.corpus = $corpus
group by sentence.id, sentence.document, document.index, sentence.index, sentence.name, document.file, sentence.line
order by sentence.id
