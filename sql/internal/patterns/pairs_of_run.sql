-- How many pairs of a saved relation are in the corpus of a run, and how many of these stand at one position of the run:
-- words of one multiword token, read as written.
with

own_run as (
    select run.id, run.corpus
    from run
    where run.name = $run
),

own_pair as (
    select distinct saved_pair.word, saved_pair.head_word
    from saved_pair
    inner join word on word.id = saved_pair.word
    inner join sentence on sentence.id = word.sentence
    inner join document on document.id = sentence.document
    inner join own_run on own_run.corpus = document.corpus
    where saved_pair.relation = $relation
),

inside as (
    select distinct own_pair.word, own_pair.head_word
    from own_pair
    inner join word_position as dependent on dependent.word = own_pair.word
    inner join word_position as gold_head
        on gold_head.word = own_pair.head_word
        and gold_head.sequence = dependent.sequence
        and gold_head.position = dependent.position
    inner join sequence on sequence.id = dependent.sequence
    inner join own_run on own_run.id = sequence.run
)

select
    (select count(*) from own_pair) as pairs,
    (select count(*) from inside) as inside
