-- The edges of a relation between the words that a run has read, of a dependency relation without its subtypes or of a
-- saved one: the dependent and its head, two words.
with read_word as (
    select distinct word_position.word
    from word_position
    inner join sequence on sequence.id = word_position.sequence
    where sequence.run = $run
)

select distinct edge.dependent, edge.head
from (
    select dependency.dependent, dependency.head
    from dependency
    where saved_relation_name($relation) is null
        and $relation in (without_subtype(dependency.relation), dependency.relation)
    union all
    select saved_pair.word, saved_pair.head_word
    from saved_pair
    where saved_pair.relation = saved_relation_name($relation)
) as edge
inner join read_word as dependent on dependent.word = edge.dependent
inner join read_word as head on head.word = edge.head
where edge.head <> edge.dependent
order by all
