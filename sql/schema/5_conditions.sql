-- Conditions on a run that several analyses share.

create or replace macro has_mentions(corpus_id) as exists (
    select 1
    from document
    inner join mention on mention.document = document.id
    where document.corpus = corpus_id
);
comment on macro has_mentions is 'Whether mentions are marked in the corpus of this id.';
