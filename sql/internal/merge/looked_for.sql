-- The last sentence of the new bank up to which every document was looked at for a saved relation, $name.
with

done as (
    select
        home.corpus, home.index,
        max(
            greatest(least(home.last_sentence, looked.last) - home.first_sentence + 1, 0)
        ) as sentences
    from merge_id_map as home
    inner join merge_looked as looked on looked.source = home.source and looked.relation = $name
    group by home.corpus, home.index
)

select coalesce(
    min(home.first_sentence + home.sentence_shift + coalesce(done.sentences, 0)) - 1,
    (select coalesce(max(sentence.id), 0) from sentence)
)
from merge_id_map as home
left join done on done.corpus = home.corpus and done.index = home.index
where home.is_own and coalesce(done.sentences, 0) < home.sentences
