-- Results that SQL cannot compute, or only slowly, kept so that queries can read them. Filled by: attnbank compute NAME.

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

create table word_frequency (
    form varchar not null,
    frequency double not null
);
comment on table word_frequency is 'How frequent words are, if you load it (insert into word_frequency ...); if it is empty, head_function counts the words of the corpus.';
comment on column word_frequency.form is 'The word; capitals do not count.';
comment on column word_frequency.frequency is 'Any measure of frequency; rows of one form add up.';

-- What is already in the tables that `attnbank compute` fills, so that nothing is computed twice.

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
