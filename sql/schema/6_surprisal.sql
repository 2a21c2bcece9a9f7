-- How probable a model finds words and sentences, with all of its heads and without some. Filled by: attnbank surprisal,
-- attnbank ablate.

create table surprisal (
    run integer not null,  -- run.id of the run whose inputs they are.
    word bigint not null,  -- word.id of the word.
    nats double,
    nats_of_pieces double,  -- The same without those ends: the sum over its pieces.
    words smallint not null  -- How many words share its position, and so the surprisal of the first of them.
);
comment on table surprisal is 'How improbable the model of a run finds each word in what it read: one row per word of its inputs. Filled by: attnbank surprisal RUN.';
comment on column surprisal.nats is 'Surprisal: minus the natural logarithm of the word''s probability, its pieces summed. Of a causal model whose vocabulary marks spaces also that it ends there, and not that the word before it does: with white space or the end of the text (Pimentel and Meister 2024), a mark, or a letter or digit, whichever follows it (docs/how-to/turn-heads-off.md). Of a causal model after what stands before it; of a masked model in its whole input (pseudo-log-likelihood, Salazar et al. 2020), later pieces of the word masked too (Kauf and Ivanova 2023). Null for a word with nothing before it, and for the second and later of words that share a position.';

create table ablation_set (  -- The heads that were disabled together, or in which edges were cut.
    run integer not null,  -- run.id of the run whose inputs the model read.
    ablation varchar not null,
    number integer not null,  -- 1-based number of the set in its ablation.
    name varchar not null,
    control_of integer,
    replacement varchar not null check (replacement in ('zero', 'mean', 'uniform', 'mask')),
    head_count smallint not null,  -- Its heads.
    relation varchar,
    direction varchar check (direction in ('dependent_to_head', 'head_to_dependent', 'both')),
    cut_at varchar check (cut_at in ('word', 'prediction')),
    chosen_by varchar not null,
    seed bigint,  -- Seed of the draw; null for a set that was chosen.
    code_version varchar not null,  -- Version of attnbank that measured it.
    libraries map(varchar, varchar) not null,  -- Versions of Python and of the libraries that the figures depend on.
    started timestamp not null,  -- When it was begun, UTC.
    finished timestamp  -- When the last words were committed, UTC; null while it is unfinished.
);
comment on column ablation_set.ablation is 'The name of the ablation, under which its sets and their controls were measured together.';
comment on column ablation_set.name is 'Name of the set: heads, the relation it was chosen by, all (the sets together), a head (19-7), or control with a number.';
comment on column ablation_set.control_of is 'The number of the set that this one, drawn at random, is a control of; null for a set that was chosen.';
comment on column ablation_set.replacement is 'What the output of its heads, before the output projection, is replaced by. zero; mean: their mean over the tokens of the run; uniform: the mean of the values that a token sees. Of edges: mask (before the softmax, so that the other weights of a row grow) or zero (after it).';
comment on column ablation_set.relation is 'The relation whose edges were cut in these heads, a dependency relation or a saved one, and nothing else; null where the heads were disabled.';
comment on column ablation_set.direction is 'Which attention was cut: that of the dependent to its head, of the head to its dependent, or both; null where heads were disabled.';
comment on column ablation_set.cut_at is 'Where it was cut: at the pieces of the word that attends (word), or at the tokens from which a causal model predicts them, each the one before (prediction); null where heads were disabled.';
comment on column ablation_set.chosen_by is 'How they were chosen: the option of the command and its value; for controls where they were drawn from.';

create table ablated_head (  -- The heads of each set.
    run integer not null,  -- run.id of the run.
    ablation varchar not null,  -- ablation_set.ablation.
    number integer not null,  -- ablation_set.number.
    layer smallint not null,  -- 1-based layer.
    head smallint not null  -- 1-based head.
);

create table ablated_edge (
    run integer not null,  -- run.id of the run.
    ablation varchar not null,  -- ablation_set.ablation.
    number integer not null,  -- ablation_set.number.
    word bigint not null,  -- word.id of the word that could not attend; of several in one position the first.
    attended_word bigint not null  -- word.id of the word that it could not attend to; of several the first.
);
comment on table ablated_edge is 'The edges that each set cut: one row per pair of words in an input of the run. Sets of heads have none.';

create table ablated_surprisal (  -- Surprisal without the heads of a set: one row per set and word of table surprisal.
    run integer not null,  -- run.id of the run.
    ablation varchar not null,  -- ablation_set.ablation.
    number integer not null,  -- ablation_set.number.
    word bigint not null,  -- word.id of the word.
    nats double  -- Surprisal in nats, as surprisal.nats.
);

create table minimal_pair (
    run integer not null,  -- run.id of the run whose model scored it.
    source varchar not null,  -- agreement: made from the trees of the corpus; else the name of the file.
    number integer not null,  -- 1-based number in its source.
    paradigm varchar not null,
    good varchar not null,  -- The verb as it is written, or the better sentence.
    bad varchar not null,  -- The verb in the other number, or the worse sentence.
    word bigint,  -- word.id of the verb; null for a pair of a file.
    attractors smallint,  -- Of agreement: nouns of the other number between subject and verb.
    distance smallint,  -- Of agreement: words from the subject to the verb.
    good_nats double,
    bad_nats double  -- The same of the other.
);
comment on table minimal_pair is 'Pairs of which a model should find the first more probable. Filled by: attnbank surprisal RUN --agreement --pairs FILE.';
comment on column minimal_pair.paradigm is 'Of agreement the relation of the subject; of a file its paradigm there, or the name of the file.';
comment on column minimal_pair.good_nats is 'Surprisal of the verb as it is written, in its sentence; of a file the sum over the sentence. Null where a piece of it cannot be scored: one without context, a word that shares its position; of a causal model a verb before its subject.';

create table ablated_pair (
    run integer not null,  -- run.id of the run.
    ablation varchar not null,  -- ablation_set.ablation.
    number integer not null,  -- ablation_set.number.
    source varchar not null,  -- minimal_pair.source.
    pair integer not null,  -- minimal_pair.number.
    good_nats double,  -- As minimal_pair.good_nats.
    bad_nats double  -- As minimal_pair.bad_nats.
);
comment on table ablated_pair is 'Minimal pairs without the heads of a set: one row per set and pair of table minimal_pair.';

create or replace view word_surprisal as
select
    surprisal.run,  -- run.id of the run.
    sentence.name as sent_id,  -- Name of the sentence in its source.
    word.index,  -- 1-based place of the word in its sentence.
    word.id as word,  -- word.id of the word.
    word.form,  -- The word.
    word.lemma,  -- Its lemma.
    word.upos,  -- Its universal part of speech.
    word.deprel,  -- Its relation to its head.
    surprisal.nats  -- Surprisal in nats, as surprisal.nats.
from surprisal
inner join word on word.id = surprisal.word
inner join sentence on sentence.id = word.sentence;
comment on view word_surprisal is 'The words of each run that has surprisals, with their sentence, and how improbable its model finds them.';
