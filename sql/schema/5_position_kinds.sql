-- The positions of each kind in each sequence.

create or replace view placement as
with place as (
    select
        position.sequence, sequence.run, sequence.positions,
        cast(position.position + 1 as integer) as list_index,
        position.kind,
        position.kind in ('word', 'token') as is_word,
        position.segment,
        case when position.kind = 'token' then plain_text(position.text) else position.text end as text
    from position
    inner join sequence on sequence.id = position.sequence
),

-- Materialized, since DuckDB would sort the lists again for every row that they are joined to.
sequence_places as materialized (
    select
        sequence, run, positions,
        list_sort(list(list_index) filter (where kind = 'cls')) as cls,
        list_sort(list(list_index) filter (where kind = 'sep')) as sep,
        list_sort(list(list_index) filter (where is_word and text in ('.', ','))) as punctuation,
        list_sort(list(list_index) filter (where is_word)) as words,
        list_sort(list(list_index) filter (where is_word and segment = 0)) as first_segment,
        list_sort(list(list_index) filter (where is_word and segment = 1)) as second_segment,
        list_sort(list(list_index) filter (where kind = 'first')) as first_word
    from place
    group by all
)

select
    sequence,  -- sequence.id of the sequence.
    run,  -- run.id of its run.
    positions,  -- Positions of the sequence.
    cls,  -- Places of [CLS]: the kind cls, however the tokenizer writes it; null for none.
    sep,  -- Places of [SEP]: the kind sep; null for none.
    punctuation,
    words,  -- Places of words or tokens: everything but special tokens and first_word; null for none.
    first_segment,  -- Places of the words or tokens of the first segment; null for none.
    second_segment,  -- Places of the words or tokens of the second segment of a pair; null for none.
    first_word  -- Place of a first word (token) that is set apart as special tokens are (kind first); null for none.
from sequence_places;
comment on view placement is 'The places of special tokens, punctuation and words in each sequence. Places count from 1, as lists do: place 1 is position 0.';
comment on column placement.punctuation is 'Places of . and , only, as in the paper: a word of this form, or a token that is this without the marks of its vocabulary (Ġ, ▁, ##, </w>); null for none.';
