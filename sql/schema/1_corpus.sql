-- Annotated text: corpora, documents, sentences, words, mentions.

create table bank (  -- What wrote this file. One row.
    format integer not null,  -- Version of the schema.
    created_by varchar not null,  -- Version of attnbank that made the file.
    analyses varchar not null,  -- SHA-256 of the statements of the analyses that the file carries.
    changes bigint not null
);
comment on column bank.changes is 'How many transactions have changed the rows: cached answers are valid while it is the same.';

create table corpus (  -- An ingested source: what one ingest command was given.
    id integer primary key,  -- Number of the corpus in this bank.
    name varchar not null unique,  -- Name of the corpus: the stem of its file, or the name given.
    format varchar not null,
    path varchar not null,
    sha256 varchar not null,
    annotation varchar not null check (annotation in ('gold', 'silver', 'none')),
    annotator varchar,  -- The pipeline that predicted silver annotation, with its version; else null.
    annotator_sha256 varchar,
    language varchar,
    shard varchar,
    licence varchar,
    citation varchar
);
comment on column corpus.format is 'Format it was read from: conllu, relations, docbin, conll2012, text or lines; repeat where ingest --repeat made it.';
comment on column corpus.path is 'Path or paths as they were given, one a line; the options that made it, where none was read.';
comment on column corpus.sha256 is 'SHA-256 of its file as it is on the disk; of several files, of the lines that sha256sum prints; of one that was made, of its text; of one in an excerpt, of that digest and the numbers of the sentences that are here.';
comment on column corpus.annotation is 'gold (read from the file), silver (predicted by the annotator) or none (words alone, as --unit token needs).';
comment on column corpus.annotator_sha256 is 'SHA-256 of the lines that sha256sum prints of the files of that pipeline; null without one, and in a bank that did not keep it.';
comment on column corpus.language is 'Language of its text, a BCP 47 tag (fr, he, zh-Hant): as --language says, or from the name of a file of Universal Dependencies; null where neither tells.';
comment on column corpus.shard is 'Which part of its documents the bank has, as ingest --shard took it: 3/16 is every sixteenth from the third on (document.index is the place in the whole corpus), and 1-3+5/16 are four such shards, merged; null for all of them.';
comment on column corpus.licence is 'The licence of its text and annotation: ingest --licence, or what the README beside its files says (License: CC BY-SA 4.0); null if neither does.';
comment on column corpus.citation is 'How to cite it: ingest --citation, or the first BibTeX entry of the README beside its files; null if there is neither.';

create table document (  -- A document of a corpus.
    id bigint primary key,  -- (corpus.id - 1) << 40 | document.index.
    corpus integer not null,  -- corpus.id of the corpus it belongs to.
    index integer not null,  -- 1-based place in the corpus.
    name varchar not null,  -- Its newdoc id, or the stem of its file.
    marked boolean,
    split varchar,  -- train, dev or test, from the name of the file or the --split option; else null.
    file varchar,  -- The file that it was read from.
    metadata map(varchar, varchar)  -- What the source says of it (author, genre, date, ...), key by key.
);
comment on column document.marked is 'Whether its source marks it as a document (newdoc in CoNLL-U, #begin document in CoNLL-2012, empty lines between sentences on lines, a Doc of a DocBin; a file of plain text is one). False for what a file has outside any: statistics then take each of its sentences by itself.';

create table sentence (  -- A sentence of a document.
    id bigint primary key,  -- (corpus.id - 1) << 40 | its 1-based place in the whole corpus, in the order of the text.
    document bigint not null,  -- document.id of the document it belongs to.
    index integer not null,  -- 1-based place in the document.
    paragraph integer,  -- 1-based paragraph in the document; null where the source marks none.
    name varchar,  -- Its name in the source (sent_id in CoNLL-U).
    text varchar,  -- Its text, as the source gives it or rebuilt from the words.
    words integer not null,  -- How many words it has.
    empty_nodes smallint not null,  -- Nodes of the enhanced graph alone, which are not words and not in table word.
    line integer,  -- 1-based line of its file where it starts.
    metadata map(varchar, varchar)
);
comment on column sentence.metadata is 'What the source says of it (speaker, s_type, ...), key by key, of a key given twice the last; sent_id is in name, and text is here only where the words do not spell it. Null where nothing.';

create table word (  -- A syntactic word, with its gold (or silver) annotation; null where there is none.
    id bigint not null,  -- (corpus.id - 1) << 40 | its 1-based place in the whole corpus, in the order of the text.
    sentence bigint not null,  -- sentence.id of the sentence it belongs to.
    index smallint not null,  -- 1-based place in the sentence (ID in CoNLL-U).
    form varchar not null,  -- The word as it is written.
    lemma varchar,  -- Its lemma.
    upos varchar,  -- Its universal part of speech.
    xpos varchar,  -- Its part of speech in the treebank's own tag set.
    feats varchar,  -- Its morphological features, Name=Value joined by |.
    head_index smallint,  -- word.index of its syntactic head in the same sentence; 0 for the root.
    deprel varchar,  -- Its relation to its head, subtype included (nmod:poss).
    deps varchar,  -- Its enhanced dependencies, as the source writes them.
    space_after boolean not null,  -- Whether white space follows it in the text.
    surface varchar,  -- The multiword token that it is a part of (don't for do and n't); else null.
    misc varchar,  -- What else the source says of it, Key=Value joined by |, mentions left out.
    token_start smallint
);
comment on column word.token_start is 'word.index of the first word of the multiword token that it is a part of; null outside of one.';

create table enhanced_dependency (
    sentence bigint not null,  -- sentence.id of the sentence.
    dependent_index smallint not null,  -- word.index of the dependent; a word may have several rows.
    head_index smallint not null,  -- word.index of a head of it in the same sentence; 0 for the root.
    relation varchar not null  -- The relation, subtype included (nsubj:xsubj, conj:and).
);
comment on table enhanced_dependency is 'The enhanced graphs: one row per edge between two words, or to the root. Edges from or to an empty node (sentence.empty_nodes) are left out.';

create table constituent (
    sentence bigint not null,  -- sentence.id of the sentence.
    number smallint not null,
    parent smallint,  -- constituent.number of the phrase that it is a part of; null for a root.
    label varchar not null,  -- Its label, as the source writes it (TOP, NP, VP).
    first_index smallint not null,  -- word.index of its first word.
    last_index smallint not null  -- word.index of its last word.
);
comment on table constituent is 'The bracketed trees: one row per phrase. Only corpora in CoNLL-2012 whose parse column has brackets have any.';
comment on column constituent.number is '1-based place in the sentence, in the order of the opening brackets: a phrase comes before its parts.';

create table mention (  -- A mention of an entity: a span of words that refers to it.
    id bigint not null,  -- (corpus.id - 1) << 40 | its 1-based place in the whole corpus, in the order of the text.
    document bigint not null,  -- document.id of the document it stands in.
    entity bigint not null,
    entity_name varchar not null,  -- The name of the entity in the source, unique in its document.
    first_word bigint not null,  -- word.id of its first word.
    last_word bigint not null,  -- word.id of its last word.
    head_word bigint not null,  -- word.id of its head word.
    head_rule varchar not null,
    kind varchar not null,  -- pronoun, proper or nominal, by its head word.
    kind_rule varchar not null,
    type varchar,  -- The entity type that the source gives (person, place, ...).
    identity varchar,  -- A name in the world that the source links to (GUM: a Wikipedia article).
    parts smallint not null  -- How many parts it has; more than 1 where it is discontinuous.
);
comment on column mention.entity is 'The entity, (corpus.id - 1) << 40 | its 1-based place among those of the whole corpus: mentions that corefer share it.';
comment on column mention.head_rule is 'How the head was found: head (the field in which the source names it), else tree (its syntactic head lies outside the span), else minspan (a field of the source), else phrase (the phrases of a bracketed parse), else surface.';
comment on column mention.kind_rule is 'How the kind was found: tag (part of speech; also those of the Penn, Chinese and Arabic treebanks and of CGN), form (no tags: pronoun list and capitals), or unknown (a tag of another set: nominal).';

create table departure (
    corpus integer not null,  -- corpus.id of its corpus.
    sentence bigint not null,  -- sentence.id of the sentence.
    place varchar not null,  -- file:line of the departure.
    reason varchar not null,
    detail varchar not null  -- The departure in words.
);
comment on table departure is 'Where a source departs from its format and was read all the same; and, one row each, what it has and a bank does not (zero-mention).';
comment on column departure.reason is 'Stable id of the departure, which ingest --strict refuses (text-mismatch: the words do not spell # text, so sentence.text is rebuilt from them; space-mismatch: they are spaced as in # text; repeated-document, duplicate-sent-id; repeated-mention: it is read once; no-entity-group: each mention is an entity of its own; missing-head: a word without a head in a tree, which no analysis judges; withheld-form; other-upos: CONJ is read as CCONJ; mark-in-word; bad-parse); or zero-mention, a mention of an empty node, which is not in table mention.';
