-- The first document that is not the same in all its sources, or that an earlier source of the same shards lacks.
select merge_id_map.corpus, merge_id_map.index
from merge_id_map
group by merge_id_map.corpus, merge_id_map.index
having
    min(merge_id_map.sentences) <> max(merge_id_map.sentences)
    or min(merge_id_map.words) <> max(merge_id_map.words)
    or min(merge_id_map.mentions) <> max(merge_id_map.mentions)
    or min(merge_id_map.entities) <> max(merge_id_map.entities)
    or max(case when merge_id_map.is_own and not merge_id_map.is_first then 1 else 0 end) = 1
order by merge_id_map.corpus, merge_id_map.index
limit 1
