-- How many pairs of a saved relation are in the corpus of a run, and how many of these are in one position of the run:
-- words of one multiword token that is read as written.
with named_run as (
    select id, corpus
    from run
    where name = $run
),

corpus_pair as (
    select distinct saved_pair.word, saved_pair.head_word
    from saved_pair
    inner join word on word.id = saved_pair.word
    inner join sentence on sentence.id = word.sentence
    inner join document on document.id = sentence.document
    inner join named_run on named_run.corpus = document.corpus
    where saved_pair.relation = $relation
),

pair_at_one_position as (
    select distinct corpus_pair.word, corpus_pair.head_word
    from corpus_pair
    inner join word_position as dependent on dependent.word = corpus_pair.word
    inner join word_position as gold_head
        on gold_head.word = corpus_pair.head_word
        and gold_head.sequence = dependent.sequence
        and gold_head.position = dependent.position
    inner join sequence on sequence.id = dependent.sequence
    inner join named_run on named_run.id = sequence.run
)

select
    (select count(*) from corpus_pair) as pairs,
    (select count(*) from pair_at_one_position) as inside
