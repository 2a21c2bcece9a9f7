-- The saved relations: the number of pairs of each, and of sentences that were added after it was saved.
select
    saved_relation.name,
    (select count(*) from saved_pair where saved_pair.relation = saved_relation.name) as pairs,
    saved_relation.request,
    saved_relation.from_node,
    saved_relation.to_node,
    saved_relation.meaning,
    saved_relation.saved,
    (select count(*) from sentence where sentence.id > saved_relation.last_sentence) as later_sentences
from saved_relation
order by saved_relation.name
