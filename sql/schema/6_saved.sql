-- The user's own relations: pairs of words that a request matched, saved under a name. Filled by: attnbank save.

create table saved_relation (
    name varchar primary key,  -- Its name, which no relation of the corpora has.
    request varchar not null,  -- The request that found its pairs.
    from_node varchar not null,  -- The node of the request that is the dependent.
    to_node varchar not null,  -- The node of the request that is its head.
    meaning varchar,  -- What it means, in words; null if the user gave none.
    statement varchar not null,  -- The SELECT that found its pairs.
    last_sentence bigint not null,
    code_version varchar not null,  -- Version of attnbank that saved it.
    saved timestamp not null,  -- When it was saved, UTC.
    is_circular boolean  -- Whether the request is about attention, so that no head can be tested on its pairs.
);
comment on table saved_relation is 'The relations that were saved with attnbank save. Each can be used like a relation of the trees.';
comment on column saved_relation.last_sentence is 'The largest sentence.id that was searched. Later sentences have no pairs until it is saved again.';

create table saved_pair (  -- The pairs of words of the saved relations: one row per pair.
    relation varchar not null,  -- saved_relation.name of its relation.
    word bigint not null,  -- word.id of the word that stands for the dependent.
    head_word bigint not null  -- word.id of the word that stands for its head.
);
