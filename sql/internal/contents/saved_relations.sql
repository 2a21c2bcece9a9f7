-- The saved relations: the number of pairs of each, and of sentences that were added after it was saved.
select
    name,
    (select count(*) from saved_pair where saved_pair.relation = saved_relation.name) as pairs,
    request, from_node, to_node, meaning, saved,
    (select count(*) from sentence where sentence.id > saved_relation.last_sentence) as later_sentences
from saved_relation
order by name
