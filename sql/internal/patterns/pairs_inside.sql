-- How many pairs of a saved relation stand at one position of a run: words of one multiword token, read as written.
select count(distinct concat(cast(saved_pair.word as varchar), '-', cast(saved_pair.head_word as varchar)))
from saved_pair
inner join word_position as dependent on dependent.word = saved_pair.word
inner join word_position as gold_head
    on gold_head.word = saved_pair.head_word
    and gold_head.sequence = dependent.sequence
    and gold_head.position = dependent.position
inner join sequence on sequence.id = dependent.sequence
inner join run on run.id = sequence.run
where saved_pair.relation = $relation
    and run.name = $run
