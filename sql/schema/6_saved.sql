-- The user's own relations: pairs of words that a request matched, saved under a name. Filled by: attnbank save.

create table saved_relation (
    name varchar primary key,
    request varchar not null,
    from_node varchar not null,
    to_node varchar not null,
    meaning varchar,
    statement varchar not null,
    last_sentence bigint not null,
    code_version varchar not null,
    saved timestamp not null,
    is_circular boolean
);
comment on table saved_relation is 'The relations that were saved with attnbank save. Each can be used like a relation of the trees.';
comment on column saved_relation.name is 'Its name, which no relation of the corpora has.';
comment on column saved_relation.request is 'The request that found its pairs.';
comment on column saved_relation.from_node is 'The node of the request that is the dependent.';
comment on column saved_relation.to_node is 'The node of the request that is its head.';
comment on column saved_relation.meaning is 'What it means, in words; null if the user gave none.';
comment on column saved_relation.statement is 'The SELECT that found its pairs.';
comment on column saved_relation.last_sentence is 'The largest sentence.id that was searched. Later sentences have no pairs until it is saved again.';
comment on column saved_relation.code_version is 'Version of attnbank that saved it.';
comment on column saved_relation.saved is 'When it was saved, UTC.';
comment on column saved_relation.is_circular is 'Whether the request is about attention, so that no head can be tested on its pairs.';

create table saved_pair (
    relation varchar not null,
    word bigint not null,
    head_word bigint not null
);
comment on table saved_pair is 'The pairs of words of the saved relations: one row per pair.';
comment on column saved_pair.relation is 'saved_relation.name of its relation.';
comment on column saved_pair.word is 'word.id of the word that stands for the dependent.';
comment on column saved_pair.head_word is 'word.id of the word that stands for its head.';
