-- Models, runs of a model over a corpus, and what a run left out.

create table model (  -- A transformer whose attention is in the bank.
    id integer primary key,  -- Number of the model in this bank.
    name varchar not null,  -- The name it was loaded by: a hub name, the name of a folder, or minilm.
    revision varchar,  -- Commit on the hub that it was loaded from; the package version for minilm; null for a folder.
    sha256 varchar not null,
    architecture varchar not null,  -- Its class in transformers (BertModel, GPT2Model, ...).
    layers smallint not null,  -- Number of its layers that have attention.
    heads smallint not null,  -- Number of attention heads in each layer.
    random_seed integer,  -- Seed of its random weights (a control model); null for trained weights.
    tokenizer varchar not null,  -- Class of its tokenizer.
    max_positions integer,  -- Longest input in tokens that it takes; null for no limit.
    tokenizer_sha256 varchar,
    layer_numbers smallint[],
    sinks boolean,
    causal boolean,
    sliding_window integer,
    kv_heads smallint,
    series varchar,
    step bigint,  -- The step of that training, from the name of its folder or revision (step1000, checkpoint-2000).
    tokens_seen bigint  -- The tokens that it had seen by then, where that name says it (tokens4B).
);
comment on column model.sha256 is 'SHA-256 over its parameters and buffers, name by name, without a pooler or a head: the same encoder gives the same digest.';
comment on column model.tokenizer_sha256 is 'SHA-256 over its tokenizer, without what decodes, pads and cuts: another tokenizer is another model.';
comment on column model.layer_numbers is 'The 1-based numbers of its layers that have attention, in a hybrid with other layers below or between them; null where they are 1 to layers.';
comment on column model.sinks is 'Whether its heads can also attend to something that is not a position (an attention sink, a prompt of its own), so that rows of attention sum to less than 1.';
comment on column model.causal is 'Whether its tokens see only those before them, as a decoder''s do: above the diagonal all its maps are 0. Null where that is not known, which counts as false.';
comment on column model.sliding_window is 'How many tokens a token sees to one side, in all of its layers or some, as its configuration says; null for no such bound. Chances under uniform attention, and what a direction can find, ignore it.';
comment on column model.kv_heads is 'Number of key and value heads in each layer: smaller than heads where several query heads share one (grouped or multi-query attention), else heads. Null where that is not known.';
comment on column model.series is 'The training that it is a checkpoint of: the folder of checkpoints, or the model of the hub, as they were named. Null where it is not known to be one.';

create table run (  -- One pass of one model over one corpus, with every option that shapes its rows.
    id integer primary key,  -- Number of the run in this bank.
    name varchar not null unique,  -- Name of the run: corpus/model, and what distinguishes it further.
    model integer not null,  -- model.id of the model.
    corpus integer not null,  -- corpus.id of the corpus.
    context varchar not null check (context in ('sentence', 'document', 'pair')),
    unit varchar not null check (unit in ('word', 'token')),
    subword varchar not null check (subword in ('mean', 'first')),
    multiword varchar,
    edges varchar,
    max_tokens integer not null,  -- Longest input in tokens, special tokens included; longer ones are in skipped.
    measure varchar,
    decimals smallint,
    keep varchar,
    first_word varchar,
    bos varchar,
    shard varchar,  -- The part of the documents that it is over (3/16, 1-2+4/5); null for all of them.
    truncate boolean,  -- Whether only the first input of each document was taken.
    "limit" bigint,  -- Inputs in its random sample; null for all inputs.
    seed bigint,  -- Seed of the sample, and of where pairs are split; null where nothing was drawn.
    gradients boolean,  -- Whether gradient has its rows.
    ablate varchar,  -- What ablation has the loss without: heads or layers; null for nothing.
    replacement varchar,  -- What replaced the weights of a disabled head: uniform or zero; null where none was.
    mask_seed bigint,  -- Seed of the masks of gradients and ablation; null where nothing was masked.
    reading smallint,
    batching varchar,
    heads smallint,
    options map(varchar, varchar),
    code_version varchar not null,  -- Version of attnbank that wrote the run.
    started timestamp not null,  -- When it started, UTC; of several parts the first.
    finished timestamp
);
comment on column run.context is 'What one input of the model is: a sentence, whole sentences of a document, or a pair of segments.';
comment on column run.unit is 'What a position is: a word (pieces merged, section 4.1 of the paper) or a token.';
comment on column run.subword is 'Attention from a split word: the mean over its pieces (the paper) or its first piece (the published code).';
comment on column run.decimals is 'Decimals that the weights of attention and attention_top are rounded to; null for unrounded. Table peak is never rounded.';
comment on column run.options is 'How it was asked for, by option: the files of the corpus, the model as it was named, the device and others that change no row.';
comment on column run.finished is 'When its last batch was committed, UTC; of several parts the last; null while it is unfinished.';
comment on column run.reading is 'How words were given to the tokenizer. 3: each with the white space before it, as in the text, and what is written like a special token as text. 2, in older runs: such a word as that token. 1 or null: as in the text only for byte-level tokenizers; SentencePiece ones read spaces that nobody wrote, or none.';
comment on column run.multiword is 'How a multiword token that its words do not spell (French du: de + le) was read. written: as in the text, so that its words share one position; parts: its words in its place.';
comment on column run.keep is 'What is kept of each attention map. weights: all of it, in attention; top:8 (or another number): the 8 largest weights of each distribution, in attention_top; peaks: only what attention_map and peak hold, which all runs have.';
comment on column run.batching is 'Which inputs the model saw together. padded: of any length, the shorter ones padded; equal: of one length only, because padding changes the attention of this model; single: none.';
comment on column run.edges is 'How the edges of words were read. cut: the tokenizer was given each word by itself; share: it was given the text of each sentence, so that words which one of its pieces joins share one position.';
comment on column run.first_word is 'What the first word (token) of an input is where the model is causal and nothing stands before the text. special: its kind is first, and as a special token it is not a candidate for a maximum; word: it is one. Null where it is a word like any other.';
comment on column run.bos is 'The token that was put before the text of each input (--bos, --bos-token); null for what the tokenizer does by itself.';
comment on column run.measure is 'What its maps hold. weights: attention weights; norms: the length of each weighted value vector (Kobayashi et al. 2020); residual-norms: the same of a whole layer with its residual, and with its layer norm where that comes after it (2021; not in GPT-2, Llama and others that normalise first); rollout: attention multiplied through the layers (Abnar and Zuidema 2020); value-zeroing: how much a layer''s output changes without the values of a word, of all its pieces together: 1 - cos, the mean over the pieces that look, as shares of a row (Mohebbi et al. 2023).';
comment on column run.heads is 'Maps in each layer: the heads of its model, or 1 where the measure is one of whole layers (head is 1 then).';

create table run_part (
    run integer not null,  -- run.id of the run.
    shard varchar,  -- The part of the documents (3/16), as ingest --shard took it; null for all of them.
    batches integer not null,  -- Batches committed so far; an interrupted run goes on with the next.
    batch_tokens integer not null,
    device varchar not null,  -- Device that the model ran on (cpu, cuda, ...).
    libraries map(varchar, varchar) not null,  -- Versions of Python and of the libraries that the figures depend on.
    started timestamp not null,  -- When it started, UTC.
    finished timestamp,  -- When its last batch was committed, UTC; null while it is unfinished.
    unknown_words integer,
    joined_words integer,
    misspelled_words integer,
    earlier_batch_tokens struct(last_batch integer, batch_tokens integer)[]
);
comment on table run_part is 'How each part of a run was made: one row, or one for each shard of a run that was merged of shards.';
comment on column run_part.batch_tokens is 'Budget of a batch in padded tokens; the batches decide which inputs the model saw together.';
comment on column run_part.earlier_batch_tokens is 'Budgets of its first batches, where memory ran out and it was resumed with a smaller one: each with the last batch that it applied to, in order. Null where all batches had batch_tokens.';
comment on column run_part.unknown_words is 'Words of the run (a multiword token that is read as written counts as one) with a piece that the vocabulary lacks ([UNK]), in the batches committed so far.';
comment on column run_part.joined_words is 'Words of the run (a multiword token that is read as written counts as one) that the tokenizer, given the text of a sentence, splits differently than each word alone: a piece joins them to a neighbour, or goes on from one (##s). Counted for the batches committed so far.';
comment on column run_part.misspelled_words is 'Words whose tokens, in a run that was given (add_run), do not spell them, marks, case and accents aside; of the batches committed so far. Null where the tokens were attnbank''s own, or were not to spell words.';

create table skipped (
    corpus integer not null,  -- corpus.id of its corpus.
    run integer,  -- run.id of the run that left it out; null where it could not be read, so that no run has it.
    batch integer,  -- sequence.batch with which the row was committed; null where run is.
    sentence bigint,  -- sentence.id; null where the sentence could not be read.
    name varchar,  -- Its name in the source.
    place varchar,  -- file:line where it starts.
    reason varchar not null,
    detail varchar not null  -- The reason in words.
);
comment on table skipped is 'A sentence that was left out, and why. Nothing is dropped without a row here, except what run."limit" passes over.';
comment on column skipped.reason is 'Stable id of the reason (too-long, no-pieces, not-placed, not-normalised, nothing-to-mask, truncated, unpaired, cut-off, empty, not-given, or an error id of the readers).';

create table preferred_run (
    run integer not null  -- run.id of the run.
);
comment on table preferred_run is 'The default runs of the bank: at most one of each context and unit. Set by: attnbank use RUN.';

-- The largest numbers of deleted rows. They are never used again, so that an id that was written down elsewhere never
-- means another row.

create table used_id (
    kind varchar primary key,  -- The table whose id it is: corpus, model, run or probe.
    last integer not null  -- The largest id that was in use.
);
comment on table used_id is 'The last number of each kind that was in use when rows were deleted; the next is larger. Empty if nothing was ever deleted.';
