-- Says up to which sentence of the new bank the text was searched for each saved relation.
with first_unsearched as (
    select saved_relation.name, min(sentence.id) as sentence
    from saved_relation
    cross join sentence
    anti join merge_searched
        on merge_searched.relation = saved_relation.name
        and merge_searched.sentence = sentence.id
    group by all
)

update saved_relation
set last_sentence = coalesce(
    (
        select first_unsearched.sentence - 1
        from first_unsearched
        where first_unsearched.name = saved_relation.name
    ),
    (select coalesce(max(id), 0) from sentence)
)
