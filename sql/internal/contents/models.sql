-- The models of a bank.
select
    model.id,
    model.name,
    model.architecture,
    model.layers,
    model.heads,
    model.random_seed,
    model.revision,
    model.sha256,
    model.tokenizer,
    model.max_positions,
    model.tokenizer_sha256,
    model.layer_numbers,
    model.sinks,
    model.causal,
    model.sliding_window,
    model.kv_heads,
    model.series,
    model.step,
    model.tokens_seen
from model
order by model.id
