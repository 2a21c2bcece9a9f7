-- The edges of a relation in the corpus of a run, of a dependency relation without its subtypes or of a saved one: the
-- dependent and its head, two words.
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
inner join word on word.id = edge.dependent
inner join sentence on sentence.id = word.sentence
inner join document on document.id = sentence.document
inner join run on run.corpus = document.corpus
where run.id = $run
    and edge.head is not null
    and edge.head <> edge.dependent
order by all
