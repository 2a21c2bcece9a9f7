-- Results that SQL cannot compute, or only slowly, stored so that queries can read them. Filled by: attnbank compute NAME.

create table head_distance (
    run integer not null,  -- run.id of the run.
    smoothing double not null,  -- Share of a uniform distribution that was mixed into every one.
    layer_a smallint not null,  -- 1-based layer of the head that comes first.
    head_a smallint not null,  -- 1-based number of that head in its layer.
    layer_b smallint not null,  -- 1-based layer of the head that comes later.
    head_b smallint not null,  -- 1-based number of that head in its layer.
    js_divergence double not null,
    n_tokens bigint not null  -- Tokens that the sum is over, special tokens included.
);
comment on table head_distance is 'How far apart two heads of a run attend: one row per pair of different heads. Filled by: attnbank compute head_distance.';
comment on column head_distance.js_divergence is 'Sum over the tokens of the Jensen-Shannon divergence of their two distributions, in nats.';

create table head_embedding (
    run integer not null,  -- run.id of the run.
    smoothing double not null,  -- Smoothing of the distances (head_distance.smoothing).
    seed integer not null,  -- Seed of the random starts; one further start, from classical scaling, needs none.
    layer smallint not null,  -- 1-based layer.
    head smallint not null,  -- 1-based head.
    x double not null,  -- Place along the axis on which the heads differ most, in nats per token; the mean is 0.
    y double not null,  -- Place along the other axis, in nats per token; the mean is 0.
    stress double not null
);
comment on table head_embedding is 'Where the heads of a run lie in the plane that keeps their distances best. Filled by: attnbank compute head_embedding.';
comment on column head_embedding.stress is 'Normalised stress of the whole picture: 0 keeps every distance, 1 none. The same in every row.';

create table tree_ensemble (
    run integer not null,  -- run.id of the run.
    relation varchar not null,  -- The relation, subtype folded.
    direction varchar not null,  -- dependent_to_head or head_to_dependent.
    rank smallint not null,  -- 1 for the head that finds most alone; each further one is that which adds most.
    layer smallint not null,  -- 1-based layer.
    head smallint not null,  -- 1-based head.
    correct bigint not null,
    n bigint not null,  -- Dependents of the relation that they were chosen on.
    in_tree boolean not null
);
comment on table tree_ensemble is 'Heads that find the dependents of one relation together, chosen on half of the documents: one row per relation, direction and head. Filled by: attnbank compute tree_ensemble.';
comment on column tree_ensemble.in_tree is 'Whether attention_tree reads them: of a relation those of the direction that finds more.';
comment on column tree_ensemble.correct is 'Dependents whose head the heads up to this rank find with the mean of their weights, among those that they were chosen on.';

create table attention_tree (
    run integer not null,  -- run.id of the run.
    root varchar not null,  -- What the decoder was given of the root: none, or gold (the root of the annotation).
    decoder varchar not null,
    source varchar not null,
    layer smallint,  -- 1-based layer; null for all and ensemble.
    head smallint,  -- 1-based head; null unless the source is one.
    direction varchar not null,
    sequence bigint not null,  -- sequence.id of the input.
    sentence bigint not null,  -- sentence.id of the sentence.
    first_position smallint not null,  -- position.position of its first word.
    heads smallint[] not null,
    weight double not null  -- The sum of the weights of its arcs.
);
comment on table attention_tree is 'The tree of the largest weight over the words of a sentence, by the attention between them: one row per sentence and source. Filled by: attnbank compute attention_tree.';
comment on column attention_tree.decoder is 'spanning (any tree: Chu-Liu/Edmonds, or Prim where both directions are one) or projective (no arcs cross: Eisner).';
comment on column attention_tree.source is 'head (one head), layer (the mean of a layer''s heads), all (the mean of all heads) or ensemble (heads for each relation: tree_ensemble).';
comment on column attention_tree.direction is 'What the weight of an arc is: dependent_to_head, the attention of a word to its head; head_to_dependent, that of the head to it; both, the mean of the two, so that arcs have no direction but away from the root; of a causal model later_to_earlier, that of the later word to the earlier. Of an ensemble each relation has its own.';
comment on column attention_tree.heads is 'The position of the head of each word in turn: heads[p - first_position + 1] is that of position p. Null for the root.';

create table attention_span (
    run integer not null,  -- run.id of the run.
    distance varchar not null,  -- How unlike two distributions are: jensen_shannon or hellinger.
    source varchar not null,  -- head (one head), layer (the mean of a layer's heads) or all (the mean of all heads).
    layer smallint,  -- 1-based layer; null for all.
    head smallint,  -- 1-based head; null unless the source is one.
    sequence bigint not null,  -- sequence.id of the input.
    sentence bigint not null,  -- sentence.id of the sentence.
    first_position smallint not null,  -- position.position of its first word.
    firsts smallint[] not null,
    lasts smallint[] not null  -- The position of the last word of each phrase, in the same order.
);
comment on table attention_span is 'The phrases of a sentence, split where neighbouring words attend most differently: one row per sentence and source. Filled by: attnbank compute attention_span.';
comment on column attention_span.firsts is 'The position of the first word of each phrase: of the one that is split after the first word, after the second, and so on.';

create table word_frequency (
    form varchar not null,  -- The word; capitals do not count.
    frequency double not null  -- Any measure of frequency; rows of one form add up.
);
comment on table word_frequency is 'How frequent words are, if you load it (insert into word_frequency ...); if it is empty, head_function counts the words of the corpus.';

-- What attnbank compute has already computed, so that nothing is computed twice.

create table computation (  -- What attnbank compute put into the bank: one row per run, step and set of rows.
    run integer not null,  -- run.id of the run.
    step varchar not null,  -- The step, and the table that it filled.
    options map(varchar, varchar) not null,  -- Its options, by name.
    row_count bigint not null,  -- How many rows it put there.
    code_version varchar not null,  -- Version of attnbank that computed them.
    libraries map(varchar, varchar) not null,  -- Versions of Python and of the libraries that the figures depend on.
    started timestamp not null,  -- When it was begun, UTC.
    finished timestamp not null  -- When they were computed, UTC.
);
