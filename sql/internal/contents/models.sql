-- The models of a bank.
select
    id, name, architecture, layers, heads, random_seed, revision, sha256, tokenizer, max_positions, tokenizer_sha256,
    layer_numbers, sinks, causal, sliding_window, kv_heads, series, step, tokens_seen
from model
order by id
