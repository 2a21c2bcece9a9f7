-- title: How many syntactic heads each probe finds, with intervals
-- paper: Clark et al. 2019, section 5
-- grain: one row per (probe, relation), the probes in the order of their training
-- formula: uas = |{d : argmax_c P(c is the head of d) is the gold head}| / |{d}|, over the words d except punctuation
-- formula: uuas = |{(d, g) : d is found as head of g, or g of d}| / |{(d, g)}|, over the gold edges between two words
-- formula: attention alone: P(c is the head of d) ∝ exp(Σ_h (w_h α_h(d, c) + u_h α_h(c, d)))
-- plot: bars x=uas y=probe,kind low=low high=high panel=relation aside=n domain=0,1
-- caption uas: UAS
-- empty: no probe has scores for this relation
-- note: UAS counts words, roots included; UUAS counts the edges between two words. Punctuation is left out of both.
-- note: a first word that is set apart (run.first_word) is scored here, and may be found, as every word: a probe finds
--   a whole tree. So n is larger than in the analyses of single heads, where it is neither.
-- note: the intervals are of resampled documents of the test run (of sentences, if the source marks no documents or the
--   run has only one); what another training run would give is not in them.
-- note: where the training differs from the published code: it learns for one epoch, from one sentence at a time; here
--   it goes on for up to 100 epochs, in batches of 16 sentences, until the loss of held-out documents falls no more,
--   and the best epoch is kept. There a word may be its own head, a mistake that only that probe can make; here not.
-- param relation varchar = 'all': only this relation (or all); null for every one
-- param probe integer = null: only the probe of this number; by default every one
-- column probe integer: probe.id
-- column kind varchar: right_branching, attention, attention_words or distance_words
-- column model varchar: the model whose attention it reads
-- column random_seed integer: seed of the model's random weights (a control); null for trained weights
-- column train_run varchar: the run it was trained on; null where nothing is learnt
-- column test_run varchar: the run it was scored on
-- column embeddings varchar: where its word vectors come from; null where it uses none
-- column root_at varchar: where the zero vector of ROOT stands: root, or published
-- column seed integer: seed of the training
-- column relation
-- column n bigint: words of that relation
-- column uas double: share of those whose head it finds, in [0, 1]
-- column low double: lower end of its 95 % interval
-- column high double: upper end of its 95 % interval
-- column edges bigint: gold edges between two words
-- column uuas double: share of those that it finds in either direction, in [0, 1]; null where there is none
-- column uuas_low double: lower end of its 95 % interval
-- column uuas_high double: upper end of its 95 % interval
select
    probe.id as probe,
    probe.kind,
    model.name as model,
    model.random_seed,
    train_run.name as train_run,
    test_run.name as test_run,
    probe.embeddings, probe.root_at, probe.seed, probe_score.relation, probe_score.n, probe_score.uas,
    probe_score.uas_low as low,
    probe_score.uas_high as high,
    probe_score.edges, probe_score.uuas, probe_score.uuas_low, probe_score.uuas_high
from requested_probe(probe := $probe) as requested
inner join probe on probe.id = requested.id
inner join probe_score on probe_score.probe = probe.id
inner join run as test_run on test_run.id = probe.test_run
inner join model on model.id = test_run.model
left join run as train_run on train_run.id = probe.train_run
where $relation is null or probe_score.relation = $relation
order by probe.id, probe_score.relation != 'all', probe_score.n desc, probe_score.relation
