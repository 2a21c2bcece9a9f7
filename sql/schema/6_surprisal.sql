-- How probable a model finds words and sentences, with all of its heads and without some. Filled by: attnbank surprisal,
-- attnbank ablate.

create table surprisal (
    run integer not null,
    word bigint not null,
    nats double,
    nats_of_pieces double,
    words smallint not null
);
comment on table surprisal is 'How improbable the model of a run finds each word in what it read: one row per word of its inputs. Filled by: attnbank surprisal RUN.';
comment on column surprisal.run is 'run.id of the run whose inputs they are.';
comment on column surprisal.word is 'word.id of the word.';
comment on column surprisal.nats is 'Surprisal: minus the natural logarithm of the word''s probability, its pieces summed. Of a causal model whose vocabulary marks spaces also that it ends there, and not that the word before it does: with white space or the end of the text (Pimentel and Meister 2024), a mark, or a letter or digit, whichever follows it (docs/how-to/turn-heads-off.md). Of a causal model after what stands before it; of a masked model in its whole input (pseudo-log-likelihood, Salazar et al. 2020), later pieces of the word masked too (Kauf and Ivanova 2023). Null for a word with nothing before it, and for the second and later of words that share a position.';
comment on column surprisal.nats_of_pieces is 'The same without those ends: the sum over its pieces.';
comment on column surprisal.words is 'How many words share its position, and so the surprisal of the first of them.';

create table ablation_set (
    run integer not null,
    ablation varchar not null,
    number integer not null,
    name varchar not null,
    control_of integer,
    replacement varchar not null check (replacement in ('zero', 'mean', 'uniform')),
    head_count smallint not null,
    chosen_by varchar not null,
    seed bigint,
    code_version varchar not null,
    libraries map(varchar, varchar) not null,
    started timestamp not null,
    finished timestamp
);
comment on table ablation_set is 'The sets of heads that were disabled together. Filled by: attnbank ablate NAME.';
comment on column ablation_set.run is 'run.id of the run whose inputs the model read.';
comment on column ablation_set.ablation is 'The name of the ablation, under which its sets and their controls were measured together.';
comment on column ablation_set.number is '1-based number of the set in its ablation.';
comment on column ablation_set.name is 'Name of the set: heads, the relation it was chosen by, all (the sets together), a head (19-7), or control with a number.';
comment on column ablation_set.control_of is 'The number of the set that this one, drawn at random, is a control of; null for a set that was chosen.';
comment on column ablation_set.replacement is 'What the output of its heads, before the output projection, is replaced by. zero; mean: their mean over the tokens of the run; uniform: the mean of the values that a token sees.';
comment on column ablation_set.head_count is 'Its heads.';
comment on column ablation_set.chosen_by is 'How they were chosen: the option of the command and its value; for controls where they were drawn from.';
comment on column ablation_set.seed is 'Seed of the draw; null for a set that was chosen.';
comment on column ablation_set.code_version is 'Version of attnbank that measured it.';
comment on column ablation_set.libraries is 'Versions of Python and of the libraries that the figures depend on.';
comment on column ablation_set.started is 'When it was begun, UTC.';
comment on column ablation_set.finished is 'When the last words were committed, UTC; null while it is unfinished.';

create table ablated_head (
    run integer not null,
    ablation varchar not null,
    number integer not null,
    layer smallint not null,
    head smallint not null
);
comment on table ablated_head is 'The heads of each set.';
comment on column ablated_head.run is 'run.id of the run.';
comment on column ablated_head.ablation is 'ablation_set.ablation.';
comment on column ablated_head.number is 'ablation_set.number.';
comment on column ablated_head.layer is '1-based layer.';
comment on column ablated_head.head is '1-based head.';

create table ablated_surprisal (
    run integer not null,
    ablation varchar not null,
    number integer not null,
    word bigint not null,
    nats double
);
comment on table ablated_surprisal is 'Surprisal without the heads of a set: one row per set and word of table surprisal.';
comment on column ablated_surprisal.run is 'run.id of the run.';
comment on column ablated_surprisal.ablation is 'ablation_set.ablation.';
comment on column ablated_surprisal.number is 'ablation_set.number.';
comment on column ablated_surprisal.word is 'word.id of the word.';
comment on column ablated_surprisal.nats is 'Surprisal in nats, as surprisal.nats.';

create table minimal_pair (
    run integer not null,
    source varchar not null,
    number integer not null,
    paradigm varchar not null,
    good varchar not null,
    bad varchar not null,
    word bigint,
    attractors smallint,
    distance smallint,
    good_nats double,
    bad_nats double
);
comment on table minimal_pair is 'Pairs of which a model should find the first more probable. Filled by: attnbank surprisal RUN --agreement --pairs FILE.';
comment on column minimal_pair.run is 'run.id of the run whose model scored it.';
comment on column minimal_pair.source is 'agreement: made from the trees of the corpus; else the name of the file.';
comment on column minimal_pair.number is '1-based number in its source.';
comment on column minimal_pair.paradigm is 'Of agreement the relation of the subject; of a file its paradigm there, or the name of the file.';
comment on column minimal_pair.good is 'The verb as it is written, or the better sentence.';
comment on column minimal_pair.bad is 'The verb in the other number, or the worse sentence.';
comment on column minimal_pair.word is 'word.id of the verb; null for a pair of a file.';
comment on column minimal_pair.attractors is 'Of agreement: nouns of the other number between subject and verb.';
comment on column minimal_pair.distance is 'Of agreement: words from the subject to the verb.';
comment on column minimal_pair.good_nats is 'Surprisal of the verb as it is written, in its sentence; of a file the sum over the sentence. Null where a piece of it cannot be scored: one without context, a word that shares its position; of a causal model a verb before its subject.';
comment on column minimal_pair.bad_nats is 'The same of the other.';

create table ablated_pair (
    run integer not null,
    ablation varchar not null,
    number integer not null,
    source varchar not null,
    pair integer not null,
    good_nats double,
    bad_nats double
);
comment on table ablated_pair is 'Minimal pairs without the heads of a set: one row per set and pair of table minimal_pair.';
comment on column ablated_pair.run is 'run.id of the run.';
comment on column ablated_pair.ablation is 'ablation_set.ablation.';
comment on column ablated_pair.number is 'ablation_set.number.';
comment on column ablated_pair.source is 'minimal_pair.source.';
comment on column ablated_pair.pair is 'minimal_pair.number.';
comment on column ablated_pair.good_nats is 'As minimal_pair.good_nats.';
comment on column ablated_pair.bad_nats is 'As minimal_pair.bad_nats.';

create or replace view word_surprisal as
select
    surprisal.run,
    sentence.name as sent_id,
    word.index,
    word.id as word,
    word.form, word.lemma, word.upos, word.deprel, surprisal.nats
from surprisal
inner join word on word.id = surprisal.word
inner join sentence on sentence.id = word.sentence;
comment on view word_surprisal is 'The words of each run that has surprisals, with their sentence, and how improbable its model finds them.';
comment on column word_surprisal.run is 'run.id of the run.';
comment on column word_surprisal.sent_id is 'Name of the sentence in its source.';
comment on column word_surprisal.index is '1-based place of the word in its sentence.';
comment on column word_surprisal.word is 'word.id of the word.';
comment on column word_surprisal.form is 'The word.';
comment on column word_surprisal.lemma is 'Its lemma.';
comment on column word_surprisal.upos is 'Its universal part of speech.';
comment on column word_surprisal.deprel is 'Its relation to its head.';
comment on column word_surprisal.nats is 'Surprisal in nats, as surprisal.nats.';
