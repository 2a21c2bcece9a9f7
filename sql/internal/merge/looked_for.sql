-- Says up to which sentence of the new bank every document was looked at for each saved relation.
with

done as (
    select
        looked.relation, home.corpus, home.index,
        max(
            greatest(least(home.last_sentence, looked.last) - home.first_sentence + 1, 0)
        ) as sentences
    from merge_id_map as home
    inner join merge_looked as looked on looked.source = home.source
    group by looked.relation, home.corpus, home.index
),

next as (
    select
        own.name,
        min(home.first_sentence + home.sentence_shift + coalesce(done.sentences, 0)) as sentence
    from saved_relation as own
    cross join merge_id_map as home
    left join done
        on done.relation = own.name and done.corpus = home.corpus and done.index = home.index
    where home.is_own and coalesce(done.sentences, 0) < home.sentences
    group by own.name
)

update saved_relation
set last_sentence = coalesce(
    (select next.sentence - 1 from next where next.name = saved_relation.name),
    (select coalesce(max(sentence.id), 0) from sentence)
)
