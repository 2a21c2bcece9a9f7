-- The first free id of each table.
select
    (select coalesce(max(corpus.id), 0) + 1 from corpus) as corpus,
    (select coalesce(max(document.id), 0) + 1 from document) as document,
    (select coalesce(max(sentence.id), 0) + 1 from sentence) as sentence,
    (select coalesce(max(word.id), 0) + 1 from word) as word,
    (select coalesce(max(mention.id), 0) + 1 from mention) as mention,
    (select coalesce(max(mention.entity), 0) + 1 from mention) as entity,
    (select coalesce(max(model.id), 0) + 1 from model) as model,
    (select coalesce(max(run.id), 0) + 1 from run) as run,
    (
        select coalesce(max(run.first_sequence + sized.sentences), 1)
        from run
        inner join (
            select document.corpus, count(*) as sentences
            from sentence
            inner join document on document.id = sentence.document
            group by document.corpus
        ) as sized on sized.corpus = run.corpus
    ) as sequence
