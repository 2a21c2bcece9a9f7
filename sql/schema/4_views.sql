-- Views in the shapes that people expect: dependencies, heads, and one row per weight.

create or replace view dependency as
select
    dependent.sentence,  -- sentence.id of the sentence.
    dependent.id as dependent,  -- word.id of the dependent.
    gold_head.id as head,  -- word.id of its syntactic head; null for the root.
    dependent.deprel as relation,  -- The relation, subtype included.
    dependent.index as dependent_index,  -- 1-based place of the dependent in the sentence.
    dependent.head_index,  -- 1-based place of the head; 0 for the root.
    dependent.form as dependent_form,  -- The dependent as it is written.
    gold_head.form as head_form  -- The head as it is written; null for the root.
from word as dependent
left join word as gold_head
    on gold_head.sentence = dependent.sentence
    and gold_head.index = dependent.head_index
where dependent.head_index is not null;
comment on view dependency is 'The dependency trees: one row per dependent.';

create or replace view head as
select
    model,  -- model.id of the model.
    cast(layer as smallint) as layer,  -- 1-based layer.
    cast(head as smallint) as head,  -- 1-based head.
    concat(cast(layer as varchar), '-', cast(head as varchar)) as name  -- layer-head, as the paper writes it: 8-10.
from (
    select model, layer, unnest(range(1, heads + 1)) as head
    from (
        select id as model, heads, unnest(coalesce(cast(layer_numbers as bigint[]), range(1, layers + 1))) as layer
        from model
    ) as model_layer
) as layer_head;
comment on view head is 'The attention heads of each model, in its layers that have attention.';

create or replace view top_run as
select
    run.id as run,  -- run.id of the run.
    max(top_k(run.keep)) as largest,  -- How many weights of each distribution it keeps: 8 for --keep top:8.
    max(sequence.positions) <= max(top_k(run.keep)) as is_whole
from run
inner join sequence on sequence.run = run.id
where top_k(run.keep) is not null
group by all;
comment on view top_run is 'The runs of --keep top:K, which keep the K largest weights of each distribution.';
comment on column top_run.is_whole is 'Whether these are all, since no input has more positions.';

create or replace view distribution as
select
    sequence,  -- sequence.id of its sequence.
    layer,  -- 1-based layer.
    head,  -- 1-based head.
    from_position,  -- position.position that attends.
    weights,
    cast(0 as float) as rest,  -- Sum of the weights that are not kept; 0 if all others are 0.
    true as is_whole  -- Whether every weight of the run is kept, so that no distribution of it has a null.
from attention
union all
select
    attention_top.sequence, attention_top.layer, attention_top.head, attention_top.from_position,
    weights_by_position(
        attention_top.to_positions, attention_top.weights, attention_top.rest, sequence.positions
    ) as weights,
    attention_top.rest, top_run.is_whole
from attention_top
inner join sequence on sequence.id = attention_top.sequence
inner join top_run on top_run.run = sequence.run;
comment on view distribution is 'The attention distributions of all runs but those of --keep peaks: the rows of attention, and those of attention_top laid out alike.';
comment on column distribution.weights is 'Attention to each position in turn: weights[p + 1] goes to position p. Null where that weight is not kept: it is at most the smallest that is, and at most rest.';

-- One unnest, and not two side by side, because Spark allows only one per SELECT. Runs of which a part of the weights is
-- kept are left out, so that a sum or a mean of this view is never one of a part. How long a list is says the sequence, so
-- that a count reads no weights.
create or replace view attention_weight as
select
    sequence,  -- sequence.id of the sequence.
    layer,  -- 1-based layer.
    head,  -- 1-based head.
    from_position,  -- Position that attends.
    cast(place - 1 as smallint) as to_position,  -- Position that is attended to.
    list_extract(weights, placed.place) as weight  -- The weight, in [0, 1].
from (
    select
        distribution.sequence, distribution.layer, distribution.head, distribution.from_position, distribution.weights,
        unnest(range(1, sequence.positions + 1)) as place
    from distribution
    inner join sequence on sequence.id = distribution.sequence
    where distribution.is_whole
) as placed;
comment on view attention_weight is 'The attention maps in long form: one row per weight. Filter by sequence, layer or head first. Only runs that keep every weight are in it, and not a part of the weights: of others ask peak, attention_map, or attention_top.';

-- Of several words in one position the first has a row of table position; the others are made here, one unnest for all.
create or replace view word_position as
select
    sequence,  -- sequence.id of the sequence.
    position,  -- position.position where the word stands.
    kind,  -- word, or token in runs of tokens; first for a first word that is set apart (run.first_word).
    word  -- word.id of the word.
from position
where word is not null
union all
select sequence, position, kind, cast(word as bigint) as word
from (
    select sequence, position, kind, unnest(range(word + 1, last_word + 1)) as word
    from position
    where last_word is not null
) as later_word;
comment on view word_position is 'Where each word of an input stands: one row per word of a position. In runs of tokens a word has a row for each of its pieces.';

create or replace view inner_dependency as
select
    sequence.run,  -- run.id of the run.
    placed.sequence,  -- sequence.id of the sequence.
    placed.position,  -- position.position where both words stand.
    dependent.id as dependent,  -- word.id of the dependent.
    gold_head.id as head,  -- word.id of its syntactic head.
    dependent.deprel as relation  -- The relation, subtype included.
from (
    select sequence, position, word as first_word, last_word, unnest(range(word, last_word + 1)) as word
    from position
    where last_word is not null
) as placed
inner join sequence on sequence.id = placed.sequence
inner join run on run.id = sequence.run and run.unit = 'word'
inner join word as dependent on dependent.id = placed.word
inner join word as gold_head
    on gold_head.sentence = dependent.sentence
    and gold_head.index = dependent.head_index
where gold_head.id >= placed.first_word
    and gold_head.id <= placed.last_word;
comment on view inner_dependency is 'The dependencies between two words of one position, which no head can find: the analyses of heads leave them out (reason inside-token).';

create or replace view multiword_token as
select
    sentence,  -- sentence.id of the sentence.
    token_start,  -- word.index of its first word, which word.token_start of all its words is.
    first_word,  -- word.id of its first word.
    last_word,  -- word.id of its last word.
    form,  -- The token as it is written.
    spelled = form as is_spelled
from (
    select
        sentence, token_start,
        min(id) as first_word,
        max(id) as last_word,
        min(surface) as form,
        string_agg(form, '' order by id) as spelled
    from word
    where token_start is not null
    group by all
) as token;
comment on view multiword_token is 'The multiword tokens: one row per token of two or more words (don''t for do and n''t; du for de and le).';
comment on column multiword_token.is_spelled is 'Whether the forms of its words, one after the other, are the token: then it is read word by word. One that they do not spell is read as written, unless the run was ingested with --multiword parts.';
