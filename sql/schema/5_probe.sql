-- Probes: what was trained on the attention of one run and scored on another.

create table probe (
    id integer primary key,  -- Number of the probe in this bank.
    kind varchar not null
        check (kind in ('right_branching', 'attention', 'attention_words', 'distance_words')),
    train_run integer,  -- run.id of the run it was trained on; null for right_branching, which learns nothing.
    test_run integer not null,  -- run.id of the run it was scored on.
    train_split varchar,  -- The document.split that it was trained on; null for every document of the run.
    test_split varchar,  -- The document.split that it was scored on; null for every document of the run.
    embeddings varchar,
    dimension integer,  -- Numbers in a word vector; null where it uses none.
    coverage double,
    vectors_sha256 varchar,
    root_at varchar not null check (root_at in ('root', 'published')),
    seed integer not null,
    options map(varchar, varchar) not null,  -- Further options of the training, by name.
    train_sentences integer not null,  -- Sentences that it learnt from.
    held_out_sentences integer not null,  -- Sentences of the train run that were held out to decide when to stop.
    test_sentences integer not null,  -- Sentences that it was scored on.
    epochs integer not null,  -- Epochs that it was trained for.
    best_epoch integer not null,  -- The epoch whose weights were kept: the lowest held_out_loss.
    loss double,
    held_out_loss double,  -- The same over the held-out words, after that epoch; null where none were held out.
    test_loss double,  -- The same over the words of the test run, punctuation included; null where nothing is learnt.
    device varchar not null,  -- Device that it was trained on (cpu, cuda, ...).
    code_version varchar not null,  -- Version of attnbank that trained it.
    libraries map(varchar, varchar) not null,  -- Versions of Python and of the libraries that the figures depend on.
    started timestamp not null,  -- When the training started, UTC.
    finished timestamp not null,  -- When it was scored, UTC.
    opens double,
    closes double  -- The same factor for the other special tokens ([SEP]).
);
comment on table probe is 'A classifier that finds the syntactic head of each word, trained on one run and scored on another (section 5 of the paper). Candidates are ROOT and the other words. A word is not a candidate for its own head; in the published code it is.';
comment on column probe.kind is 'right_branching (the next word), attention (a weight for each head and direction), attention_words (weights linear in the embeddings of the two words), distance_words (distance and embeddings, no attention).';
comment on column probe.embeddings is 'Where its word vectors come from: model (input embeddings of the trained model, mean over the pieces of a word), a file or a spaCy pipeline; null where it uses none.';
comment on column probe.coverage is 'Share of the words of the test run that have a vector, in [0, 1]; the others are zero. Null where it uses none.';
comment on column probe.vectors_sha256 is 'SHA-256 of its word vectors, by which a changed file of vectors is noticed; null where it uses none.';
comment on column probe.root_at is 'Where the zero vector of ROOT stands among the candidates: root (at ROOT) or published (after the last word, as in the published code, which shifts the vectors of all candidates by one).';
comment on column probe.seed is 'Seed of the held-out documents, the order of the batches, the first weights and the resamples.';
comment on column probe.loss is 'Mean negative log-likelihood of the gold head over the training words during the best epoch, in nats; null where nothing is learnt.';
comment on column probe.opens is 'Learnt factor of the weighted attention to and from [CLS] (positions of kind cls) in the score of ROOT. Null where it reads no attention, and in a probe of format 1.';

create table probe_score (  -- How many heads a probe finds, by relation. Punctuation is left out, as in the paper.
    probe integer not null,  -- probe.id of the probe.
    relation varchar not null,  -- Relation of the dependent to its head, subtype folded (nmod for nmod:poss), or all.
    n bigint not null,  -- Words of that relation, roots included in all.
    correct bigint not null,
    uas double not null,  -- Unlabelled attachment score: correct / n.
    uas_low double,
    uas_high double,  -- Upper end of its 95 % interval.
    edges bigint not null,  -- Gold edges between two words, neither of them punctuation.
    found bigint not null,  -- Those of which at least one end has the other for its predicted head.
    uuas double,  -- Undirected, unlabelled attachment score: found / edges; null where there is no edge.
    uuas_low double,  -- Lower end of its 95 % interval, as of uas.
    uuas_high double  -- Upper end of its 95 % interval.
);
comment on column probe_score.correct is 'Those whose head (for a root: ROOT) is the one that the probe gives the highest probability; of equals ROOT, then the leftmost.';
comment on column probe_score.uas_low is 'Lower end of its 95 % interval: percentile bootstrap over documents (over sentences, if the source marks no documents or the run has only one); null, like the others, where all such words are in one.';

create table probe_weight (
    probe integer not null,  -- probe.id of the probe.
    layer smallint not null,  -- 1-based layer.
    head smallint not null,  -- 1-based head.
    direction varchar not null,
    weight double not null,
    contribution double not null
);
comment on table probe_weight is 'What weight a probe gives each attention head, in each direction. For the kind attention these are all that it learnt, with probe.opens and probe.closes: the score of a candidate is the sum over heads and directions of weight times attention between the dependent and the candidate; that of ROOT is the same sum for each special token, times opens or closes, added up. The prediction is the candidate with the largest score, the word itself left out; of equals ROOT, then the leftmost.';
comment on column probe_weight.direction is 'dependent_to_head (attention from the dependent to its head) or head_to_dependent (from the head to the dependent).';
comment on column probe_weight.weight is 'Its weight, in nats per unit of attention, as it was learnt; for attention_words, where it depends on the two words, the mean over the gold dependencies between words of the test run, punctuation left out.';
comment on column probe_weight.contribution is 'Mean over the same dependencies of weight times attention for the gold head, less the mean of the same over the other words of the sentence: the nats by which it lifts the gold head above the others.';
