-- The attention of the heads.

create table sequence (  -- One input of the model in a run.
    id bigint not null,
    run integer not null,  -- run.id of its run.
    batch integer not null,  -- 1-based batch of its part of the run (run_part) that it was computed and committed in.
    document bigint not null,  -- document.id of its document.
    sentence bigint,  -- sentence.id in runs of single sentences; else null (word.sentence tells).
    positions smallint not null,  -- Rows and columns of its attention maps, special tokens included.
    tokens smallint not null  -- Tokens that the model was given, special tokens included.
);
comment on column sequence.id is '(run.id - 1) << 40 | the place of its sentence in the whole corpus; of its first word where sentence is null.';

create table position (  -- A row and column of the attention maps of a sequence.
    sequence bigint not null,  -- sequence.id of its sequence.
    position smallint not null,
    kind varchar not null,
    segment smallint not null,
    word bigint,
    text varchar not null,
    pieces varchar[] not null,  -- Its pieces, as the vocabulary writes them; more than one where the word was split.
    last_word bigint
);
comment on column position.position is '0-based place in the sequence; where [CLS] is 0, word k of a sentence that is an input is k, unless several words share a position before it.';
comment on column position.kind is 'word, token, or a special token: cls (opens: [CLS], <s>, beginning of text), sep (separates or closes: [SEP], </s>), special (any other). first: the first word (token) of an input with nothing before it, which the heads of a causal model attend to as others do to [CLS] (run.first_word).';
comment on column position.segment is '0 or 1 in a pair of segments: 1 from the first token of the second one on; 0 in every other context.';
comment on column position.word is 'word.id of the word it is, or is a piece of; of several words in one position the first. Null for special tokens. View word_position has every word.';
comment on column position.text is 'The word (a multiword token, or words that share the position, as they are written), or the token as the vocabulary writes it.';
comment on column position.last_word is 'word.id of the last word that stands here, where several do: those of a multiword token that was read as written (run.multiword), or those that a piece joins (run.edges). Null for one word.';

create table attention (
    sequence bigint not null,  -- sequence.id of its sequence.
    layer smallint not null,  -- 1-based layer.
    head smallint not null,  -- 1-based head.
    from_position smallint not null,  -- position.position that attends.
    weights float[] not null
);
comment on table attention is 'One attention distribution: what one head attends to from one position. Only runs of --keep weights have any (run.keep); view distribution has those of attention_top too.';
comment on column attention.weights is 'Attention to each position in turn: weights[p + 1] goes to position p. They sum to 1, to less where the model has sinks (model.sinks), or to anything where run.measure is of norms.';

create table attention_top (
    sequence bigint not null,  -- sequence.id of its sequence.
    layer smallint not null,  -- 1-based layer.
    head smallint not null,  -- 1-based head.
    from_position smallint not null,  -- position.position that attends.
    to_positions smallint[] not null,
    weights float[] not null,  -- These weights, in the order of to_positions.
    rest float not null
);
comment on table attention_top is 'The largest weights of one attention distribution, and the sum of the others. Runs of --keep top:K have these, K or as many as there are positions, and no rows in attention.';
comment on column attention_top.to_positions is 'The positions with the largest weights, the largest first, of equals the leftmost. Chosen by unrounded weights.';
comment on column attention_top.rest is 'Sum of all other weights, none of which is larger than the last of weights; 0 where each of them is.';

create table attention_map (
    sequence bigint not null,  -- sequence.id of its sequence.
    layer smallint not null,  -- 1-based layer.
    head smallint not null,  -- 1-based head.
    to_cls double not null,  -- Sum of the weights from all positions to [CLS] (kind cls).
    to_sep double not null,  -- Sum of the weights from all positions to [SEP] (kind sep).
    to_punctuation double not null,  -- Sum of the weights from all positions to . and , (as in view placement).
    to_other double not null,
    sep_to_sep double not null,  -- Sum of the weights from [SEP] to [SEP].
    word_to_word double not null,  -- Sum of the weights from words to words, themselves included.
    same_segment double not null,  -- The part of word_to_word that stays in the word's own segment.
    word_before double not null,  -- Sum of the weights from each position to the one before it, where that is a word.
    word_itself double not null,  -- Sum of the weights of words to themselves.
    word_after double not null,  -- Sum of the weights from each position to the one after it, where that is a word.
    entropy double not null,
    entropy_from_cls double,  -- Mean entropy of those from [CLS], in nats; null where there is none.
    offsets double[] not null,
    received double[] not null,  -- received[p + 1] is the sum of the weights from all positions to position p.
    given double[] not null,  -- given[p + 1] is the sum of the weights from position p to all words but itself.
    largest_positions smallint[] not null,
    largest_weights float[] not null  -- largest_weights[p + 1] is that weight; null where p is [SEP].
);
comment on table attention_map is 'One attention map: all distributions of one head in one input, summed up. All runs have it, those of --keep peaks and top:K too. Sums are of the weights as run.decimals says, in float64; words are the positions of the kind word or token.';
comment on column attention_map.to_other is 'Sum of the weights from all positions to all others. What goes to a position of the kind first is in none of these four, and in received.';
comment on column attention_map.entropy is 'Mean entropy of the distributions, in nats; of a model with sinks (model.sinks) the sum of -w ln w, which is not an entropy.';
comment on column attention_map.offsets is 'offsets[k + 11] is the sum of the weights from each position i to i + k, for k from -10 to 10.';
comment on column attention_map.largest_positions is 'largest_positions[p + 1] is the position with the largest weight from p, [SEP] left out, the leftmost of equals; null where p is [SEP].';

create table peak (
    sequence bigint not null,  -- sequence.id of its sequence.
    layer smallint not null,  -- 1-based layer.
    head smallint not null,  -- 1-based head.
    position smallint not null,  -- position.position of a word (token).
    most_attended smallint,
    most_attended_weight float,  -- Its attention to that position.
    most_attending smallint,  -- Position that attends to it most; null where none does.
    most_attending_weight float  -- The attention from that position.
);
comment on table peak is 'The largest weights from and to one position, among the other words (tokens); special tokens, a position of the kind first and itself are left out, ties go to the leftmost. From unrounded weights.';
comment on column peak.most_attended is 'Position that it attends to most; null where it attends to no other (weight 0, as the first word of a decoder).';

create table gradient (
    sequence bigint not null,  -- sequence.id of its sequence.
    layer smallint not null,  -- 1-based layer.
    head smallint not null,  -- 1-based head.
    from_position smallint not null,  -- position.position that attends.
    gradients float[] not null
);
comment on table gradient is 'The gradient of the masked-language-model loss by every attention weight of one distribution; laid out as attention. The weights are those of the masked input, the rows of attention those of the text.';
comment on column gradient.gradients is 'Signed gradient by the attention to each position in turn: gradients[p + 1] is by the weight to position p. The loss is the mean over the masked tokens of the sequence, in nats.';

create table ablation (
    run integer not null,  -- run.id of its run; while that is unfinished, the figures are of its batches so far.
    disabled varchar not null check (disabled in ('none', 'head', 'layer')),
    layer smallint,  -- 1-based layer; null for none.
    head smallint,  -- 1-based head; null for none and layer.
    replacement varchar check (replacement in ('uniform', 'zero')),
    loss double not null,  -- Mean over the masked tokens of the run, in nats.
    tokens integer not null  -- How many tokens were masked.
);
comment on table ablation is 'The masked-language-model loss of a run with a head or a layer disabled, and of the whole model, on the same masks.';
comment on column ablation.disabled is 'What is disabled: none (the whole model), head, or layer (all its heads).';
comment on column ablation.replacement is 'What the weights of a disabled head become: uniform (1/L over the L tokens of the input) or zero; null for none.';
