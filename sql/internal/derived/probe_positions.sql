-- The positions of a run, with their words and trees, in order: one row per special token, and one per word of another
-- position; only those of one split if $split is given. The pieces of a position are joined by the unit separator
-- (character 31). A first word that is set apart is a word here: a probe finds the head of each word.
select
    sequence.id as sequence,
    input_cluster(not document.marked, sequence.id, sequence.document) as cluster,
    position.position,
    case when position.kind = 'first' then 'word' else position.kind end as kind,
    cast(word.index as integer) as index,
    cast(word.head_index as integer) as head_index,
    without_subtype(word.deprel) as relation,
    case when position.word is not null then position.text end as form,
    case when position.word is not null then array_to_string(position.pieces, chr(31)) end as pieces
from sequence
inner join document on document.id = sequence.document
inner join position on position.sequence = sequence.id
left join word_position
    on word_position.sequence = position.sequence
    and word_position.position = position.position
left join word on word.id = word_position.word
where sequence.run = $run
    and (cast($split as varchar) is null or document.split = cast($split as varchar))
order by sequence.id, position.position, word.id
