-- Results that SQL cannot compute, or only slowly, stored so that queries can read them. Filled by: attnbank compute NAME.

create table head_distance (
    run integer not null,
    smoothing double not null,
    layer_a smallint not null,
    head_a smallint not null,
    layer_b smallint not null,
    head_b smallint not null,
    js_divergence double not null,
    n_tokens bigint not null
);
comment on table head_distance is 'How far apart two heads of a run attend: one row per pair of different heads. Filled by: attnbank compute head_distance.';
comment on column head_distance.run is 'run.id of the run.';
comment on column head_distance.smoothing is 'Share of a uniform distribution that was mixed into every one.';
comment on column head_distance.layer_a is '1-based layer of the head that comes first.';
comment on column head_distance.head_a is '1-based number of that head in its layer.';
comment on column head_distance.layer_b is '1-based layer of the head that comes later.';
comment on column head_distance.head_b is '1-based number of that head in its layer.';
comment on column head_distance.js_divergence is 'Sum over the tokens of the Jensen-Shannon divergence of their two distributions, in nats.';
comment on column head_distance.n_tokens is 'Tokens that the sum is over, special tokens included.';

create table head_embedding (
    run integer not null,
    smoothing double not null,
    seed integer not null,
    layer smallint not null,
    head smallint not null,
    x double not null,
    y double not null,
    stress double not null
);
comment on table head_embedding is 'Where the heads of a run lie in the plane that keeps their distances best. Filled by: attnbank compute head_embedding.';
comment on column head_embedding.run is 'run.id of the run.';
comment on column head_embedding.smoothing is 'Smoothing of the distances (head_distance.smoothing).';
comment on column head_embedding.seed is 'Seed of the random starts; one further start, from classical scaling, needs none.';
comment on column head_embedding.layer is '1-based layer.';
comment on column head_embedding.head is '1-based head.';
comment on column head_embedding.x is 'Place along the axis on which the heads differ most, in nats per token; the mean is 0.';
comment on column head_embedding.y is 'Place along the other axis, in nats per token; the mean is 0.';
comment on column head_embedding.stress is 'Normalised stress of the whole picture: 0 keeps every distance, 1 none. The same in every row.';

create table tree_ensemble (
    run integer not null,
    relation varchar not null,
    direction varchar not null,
    rank smallint not null,
    layer smallint not null,
    head smallint not null,
    correct bigint not null,
    n bigint not null,
    in_tree boolean not null
);
comment on table tree_ensemble is 'Heads that find the dependents of one relation together, chosen on half of the documents: one row per relation, direction and head. Filled by: attnbank compute tree_ensemble.';
comment on column tree_ensemble.run is 'run.id of the run.';
comment on column tree_ensemble.relation is 'The relation, subtype folded.';
comment on column tree_ensemble.direction is 'dependent_to_head or head_to_dependent.';
comment on column tree_ensemble.rank is '1 for the head that finds most alone; each further one is that which adds most.';
comment on column tree_ensemble.layer is '1-based layer.';
comment on column tree_ensemble.head is '1-based head.';
comment on column tree_ensemble.correct is 'Dependents whose head the heads up to this rank find with the mean of their weights, among those that they were chosen on.';
comment on column tree_ensemble.n is 'Dependents of the relation that they were chosen on.';
comment on column tree_ensemble.in_tree is 'Whether attention_tree reads them: of a relation those of the direction that finds more.';

create table attention_tree (
    run integer not null,
    root varchar not null,
    decoder varchar not null,
    source varchar not null,
    layer smallint,
    head smallint,
    direction varchar not null,
    sequence bigint not null,
    sentence bigint not null,
    first_position smallint not null,
    heads smallint[] not null,
    weight double not null
);
comment on table attention_tree is 'The tree of the largest weight over the words of a sentence, by the attention between them: one row per sentence and source. Filled by: attnbank compute attention_tree.';
comment on column attention_tree.run is 'run.id of the run.';
comment on column attention_tree.root is 'What the decoder was given of the root: none, or gold (the root of the annotation).';
comment on column attention_tree.decoder is 'spanning (any tree: Chu-Liu/Edmonds, or Prim where both directions are one) or projective (no arcs cross: Eisner).';
comment on column attention_tree.source is 'head (one head), layer (the mean of a layer''s heads), all (the mean of all heads) or ensemble (heads for each relation: tree_ensemble).';
comment on column attention_tree.layer is '1-based layer; null for all and ensemble.';
comment on column attention_tree.head is '1-based head; null unless the source is one.';
comment on column attention_tree.direction is 'What the weight of an arc is: dependent_to_head, the attention of a word to its head; head_to_dependent, that of the head to it; both, the mean of the two, so that arcs have no direction but away from the root; of a causal model later_to_earlier, that of the later word to the earlier. Of an ensemble each relation has its own.';
comment on column attention_tree.sequence is 'sequence.id of the input.';
comment on column attention_tree.sentence is 'sentence.id of the sentence.';
comment on column attention_tree.first_position is 'position.position of its first word.';
comment on column attention_tree.heads is 'The position of the head of each word in turn: heads[p - first_position + 1] is that of position p. Null for the root.';
comment on column attention_tree.weight is 'The sum of the weights of its arcs.';

create table attention_span (
    run integer not null,
    distance varchar not null,
    source varchar not null,
    layer smallint,
    head smallint,
    sequence bigint not null,
    sentence bigint not null,
    first_position smallint not null,
    firsts smallint[] not null,
    lasts smallint[] not null
);
comment on table attention_span is 'The phrases of a sentence, split where neighbouring words attend most differently: one row per sentence and source. Filled by: attnbank compute attention_span.';
comment on column attention_span.run is 'run.id of the run.';
comment on column attention_span.distance is 'How unlike two distributions are: jensen_shannon or hellinger.';
comment on column attention_span.source is 'head (one head), layer (the mean of a layer''s heads) or all (the mean of all heads).';
comment on column attention_span.layer is '1-based layer; null for all.';
comment on column attention_span.head is '1-based head; null unless the source is one.';
comment on column attention_span.sequence is 'sequence.id of the input.';
comment on column attention_span.sentence is 'sentence.id of the sentence.';
comment on column attention_span.first_position is 'position.position of its first word.';
comment on column attention_span.firsts is 'The position of the first word of each phrase: of the one that is split after the first word, after the second, and so on.';
comment on column attention_span.lasts is 'The position of the last word of each phrase, in the same order.';

create table word_frequency (
    form varchar not null,
    frequency double not null
);
comment on table word_frequency is 'How frequent words are, if you load it (insert into word_frequency ...); if it is empty, head_function counts the words of the corpus.';
comment on column word_frequency.form is 'The word; capitals do not count.';
comment on column word_frequency.frequency is 'Any measure of frequency; rows of one form add up.';

-- What attnbank compute has already computed, so that nothing is computed twice.

create table computation (
    run integer not null,
    step varchar not null,
    options map(varchar, varchar) not null,
    row_count bigint not null,
    code_version varchar not null,
    finished timestamp not null
);
comment on table computation is 'What attnbank compute put into the bank: one row per run, step and set of rows.';
comment on column computation.run is 'run.id of the run.';
comment on column computation.step is 'The step, and the table that it filled.';
comment on column computation.options is 'Its options, by name.';
comment on column computation.row_count is 'How many rows it put there.';
comment on column computation.code_version is 'Version of attnbank that computed them.';
comment on column computation.finished is 'When they were computed, UTC.';
