-- The inputs of the run $run of the attached source $source, but for ids: how many positions, and their digest.
-- The weights are not compared, since another machine rounds otherwise.
select
    count(*) as positions,
    coalesce(sum(hash(
        home.corpus, home.index, own.position, own.kind, own.segment, own.word - home.first_word,
        own.last_word - home.first_word, own.text, own.pieces
    )), 0) as digest
from source.main.position as own
inner join source.main.sequence as inside on inside.id = own.sequence
inner join merge_id_map as home on home.old = inside.document and home.source = $source
where inside.run = $run
