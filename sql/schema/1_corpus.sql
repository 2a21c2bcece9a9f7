-- Annotated text: corpora, documents, sentences, words, mentions.

create table bank (
    format integer not null,
    created_by varchar not null,
    analyses varchar not null,
    changes bigint not null
);
comment on table bank is 'What wrote this file. One row.';
comment on column bank.format is 'Version of the schema.';
comment on column bank.created_by is 'Version of attnbank that made the file.';
comment on column bank.analyses is 'SHA-256 of the statements of the analyses that the file carries.';
comment on column bank.changes is 'How many transactions have changed the rows: cached answers are valid while it is the same.';

create table corpus (
    id integer primary key,
    name varchar not null unique,
    format varchar not null,
    path varchar not null,
    sha256 varchar not null,
    annotation varchar not null check (annotation in ('gold', 'silver', 'none')),
    annotator varchar,
    annotator_sha256 varchar,
    language varchar,
    shard varchar,
    licence varchar,
    citation varchar
);
comment on table corpus is 'An ingested source: what one ingest command was given.';
comment on column corpus.id is 'Number of the corpus in this bank.';
comment on column corpus.name is 'Name of the corpus: the stem of its file, or the name given.';
comment on column corpus.format is 'Format it was read from: conllu, relations, docbin, conll2012, text or lines; repeat where ingest --repeat made it.';
comment on column corpus.path is 'Path or paths as they were given, one a line; the options that made it, where none was read.';
comment on column corpus.sha256 is 'SHA-256 of its file as it is on the disk; of several files, of the lines that sha256sum prints; of one that was made, of its text.';
comment on column corpus.annotation is 'gold (read from the file), silver (predicted by the annotator) or none (words alone, as --unit token needs).';
comment on column corpus.annotator is 'The pipeline that predicted silver annotation, with its version; else null.';
comment on column corpus.annotator_sha256 is 'SHA-256 of the lines that sha256sum prints of the files of that pipeline; null without one, and in a bank that did not keep it.';
comment on column corpus.language is 'Language of its text, a BCP 47 tag (fr, he, zh-Hant): as --language says, or from the name of a file of Universal Dependencies; null where neither tells.';
comment on column corpus.shard is 'Which part of its documents the bank has, as ingest --shard took it: 3/16 is every sixteenth from the third on (document.index is the place in the whole corpus), and 1-3+5/16 are four such shards, merged; null for all of them.';
comment on column corpus.licence is 'The licence of its text and annotation: ingest --licence, or what the README beside its files says (License: CC BY-SA 4.0); null if neither does.';
comment on column corpus.citation is 'How to cite it: ingest --citation, or the first BibTeX entry of the README beside its files; null if there is neither.';

create table document (
    id bigint primary key,
    corpus integer not null,
    index integer not null,
    name varchar not null,
    marked boolean,
    split varchar,
    file varchar,
    metadata map(varchar, varchar)
);
comment on table document is 'A document of a corpus.';
comment on column document.id is '(corpus.id - 1) << 40 | document.index.';
comment on column document.corpus is 'corpus.id of the corpus it belongs to.';
comment on column document.index is '1-based place in the corpus.';
comment on column document.name is 'Its newdoc id, or the stem of its file.';
comment on column document.marked is 'Whether its source marks it as a document (newdoc in CoNLL-U, #begin document in CoNLL-2012, empty lines between sentences on lines, a Doc of a DocBin; a file of plain text is one). False for what a file has outside any: statistics then take each of its sentences by itself.';
comment on column document.split is 'train, dev or test, from the name of the file or the --split option; else null.';
comment on column document.file is 'The file that it was read from.';
comment on column document.metadata is 'What the source says of it (author, genre, date, ...), key by key.';

create table sentence (
    id bigint primary key,
    document bigint not null,
    index integer not null,
    paragraph integer,
    name varchar,
    text varchar,
    words integer not null,
    empty_nodes smallint not null,
    line integer,
    metadata map(varchar, varchar)
);
comment on table sentence is 'A sentence of a document.';
comment on column sentence.id is '(corpus.id - 1) << 40 | its 1-based place in the whole corpus, in the order of the text.';
comment on column sentence.document is 'document.id of the document it belongs to.';
comment on column sentence.index is '1-based place in the document.';
comment on column sentence.paragraph is '1-based paragraph in the document; null where the source marks none.';
comment on column sentence.name is 'Its name in the source (sent_id in CoNLL-U).';
comment on column sentence.text is 'Its text, as the source gives it or rebuilt from the words.';
comment on column sentence.words is 'How many words it has.';
comment on column sentence.empty_nodes is 'Nodes of the enhanced graph alone, which are not words and not in table word.';
comment on column sentence.line is '1-based line of its file where it starts.';
comment on column sentence.metadata is 'What the source says of it (speaker, s_type, ...), key by key, of a key given twice the last; sent_id is in name, and text is here only where the words do not spell it. Null where nothing.';

create table word (
    id bigint not null,
    sentence bigint not null,
    index smallint not null,
    form varchar not null,
    lemma varchar,
    upos varchar,
    xpos varchar,
    feats varchar,
    head_index smallint,
    deprel varchar,
    deps varchar,
    space_after boolean not null,
    surface varchar,
    misc varchar,
    token_start smallint
);
comment on table word is 'A syntactic word, with its gold (or silver) annotation; null where there is none.';
comment on column word.id is '(corpus.id - 1) << 40 | its 1-based place in the whole corpus, in the order of the text.';
comment on column word.sentence is 'sentence.id of the sentence it belongs to.';
comment on column word.index is '1-based place in the sentence (ID in CoNLL-U).';
comment on column word.form is 'The word as it is written.';
comment on column word.lemma is 'Its lemma.';
comment on column word.upos is 'Its universal part of speech.';
comment on column word.xpos is 'Its part of speech in the treebank''s own tag set.';
comment on column word.feats is 'Its morphological features, Name=Value joined by |.';
comment on column word.head_index is 'word.index of its syntactic head in the same sentence; 0 for the root.';
comment on column word.deprel is 'Its relation to its head, subtype included (nmod:poss).';
comment on column word.deps is 'Its enhanced dependencies, as the source writes them.';
comment on column word.space_after is 'Whether white space follows it in the text.';
comment on column word.surface is 'The multiword token that it is a part of (don''t for do and n''t); else null.';
comment on column word.misc is 'What else the source says of it, Key=Value joined by |, mentions left out.';
comment on column word.token_start is 'word.index of the first word of the multiword token that it is a part of; null outside of one.';

create table enhanced_dependency (
    sentence bigint not null,
    dependent_index smallint not null,
    head_index smallint not null,
    relation varchar not null
);
comment on table enhanced_dependency is 'The enhanced graphs: one row per edge between two words, or to the root. Edges from or to an empty node (sentence.empty_nodes) are left out.';
comment on column enhanced_dependency.sentence is 'sentence.id of the sentence.';
comment on column enhanced_dependency.dependent_index is 'word.index of the dependent; a word may have several rows.';
comment on column enhanced_dependency.head_index is 'word.index of a head of it in the same sentence; 0 for the root.';
comment on column enhanced_dependency.relation is 'The relation, subtype included (nsubj:xsubj, conj:and).';

create table constituent (
    sentence bigint not null,
    number smallint not null,
    parent smallint,
    label varchar not null,
    first_index smallint not null,
    last_index smallint not null
);
comment on table constituent is 'The bracketed trees: one row per phrase. Only corpora in CoNLL-2012 whose parse column has brackets have any.';
comment on column constituent.sentence is 'sentence.id of the sentence.';
comment on column constituent.number is '1-based place in the sentence, in the order of the opening brackets: a phrase comes before its parts.';
comment on column constituent.parent is 'constituent.number of the phrase that it is a part of; null for a root.';
comment on column constituent.label is 'Its label, as the source writes it (TOP, NP, VP).';
comment on column constituent.first_index is 'word.index of its first word.';
comment on column constituent.last_index is 'word.index of its last word.';

create table mention (
    id bigint not null,
    document bigint not null,
    entity bigint not null,
    entity_name varchar not null,
    first_word bigint not null,
    last_word bigint not null,
    head_word bigint not null,
    head_rule varchar not null,
    kind varchar not null,
    kind_rule varchar not null,
    type varchar,
    identity varchar,
    parts smallint not null
);
comment on table mention is 'A mention of an entity: a span of words that refers to it.';
comment on column mention.id is '(corpus.id - 1) << 40 | its 1-based place in the whole corpus, in the order of the text.';
comment on column mention.document is 'document.id of the document it stands in.';
comment on column mention.entity is 'The entity, (corpus.id - 1) << 40 | its 1-based place among those of the whole corpus: mentions that corefer share it.';
comment on column mention.entity_name is 'The name of the entity in the source, unique in its document.';
comment on column mention.first_word is 'word.id of its first word.';
comment on column mention.last_word is 'word.id of its last word.';
comment on column mention.head_word is 'word.id of its head word.';
comment on column mention.head_rule is 'How the head was found: head (the field in which the source names it), else tree (its syntactic head lies outside the span), else minspan (a field of the source), else phrase (the phrases of a bracketed parse), else surface.';
comment on column mention.kind is 'pronoun, proper or nominal, by its head word.';
comment on column mention.kind_rule is 'How the kind was found: tag (part of speech; also those of the Penn, Chinese and Arabic treebanks and of CGN), form (no tags: pronoun list and capitals), or unknown (a tag of another set: nominal).';
comment on column mention.type is 'The entity type that the source gives (person, place, ...).';
comment on column mention.identity is 'A name in the world that the source links to (GUM: a Wikipedia article).';
comment on column mention.parts is 'How many parts it has; more than 1 where it is discontinuous.';

create table departure (
    corpus integer not null,
    sentence bigint not null,
    place varchar not null,
    reason varchar not null,
    detail varchar not null
);
comment on table departure is 'Where a source departs from its format and was read all the same; and, one row each, what it has and a bank does not (zero-mention).';
comment on column departure.corpus is 'corpus.id of its corpus.';
comment on column departure.sentence is 'sentence.id of the sentence.';
comment on column departure.place is 'file:line of the departure.';
comment on column departure.reason is 'Stable id of the departure, which ingest --strict refuses (text-mismatch: the words do not spell # text, so sentence.text is rebuilt from them; space-mismatch: they are spaced as in # text; repeated-document, duplicate-sent-id; repeated-mention: it is read once; no-entity-group: each mention is an entity of its own; missing-head: a word without a head in a tree, which no analysis judges; withheld-form; other-upos: CONJ is read as CCONJ; mark-in-word; bad-parse); or zero-mention, a mention of an empty node, which is not in table mention.';
comment on column departure.detail is 'The departure in words.';
