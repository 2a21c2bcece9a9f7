-- The model and the corpus of a run, with their digests.
select
    run.name as run,
    run.context, run.unit, run.code_version, run.finished,
    model.name as model,
    model.revision as model_revision,
    model.sha256 as model_sha256,
    model.tokenizer_sha256, model.random_seed,
    corpus.name as corpus,
    corpus.sha256 as corpus_sha256,
    corpus.shard as corpus_shard
from run
inner join model on model.id = run.model
inner join corpus on corpus.id = run.corpus
where run.name = $run
