"""A cache of TransformerLens, given to `add_run`, makes the bank that `ingest` makes.

TransformerLens brings sixty packages, so that no extra names it; without it these are skipped:

    pip install -c constraints.txt transformer-lens
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import torch
import transformers
from bank_factory import BankFactory
from fixture_types import Models

from attnbank.ingest import add_run
from attnbank.queries import open_bank

lens: Any = pytest.importorskip("transformer_lens", reason="TransformerLens is not installed")


def _bridge(model: Any, tokenizer: Any) -> Any:
    """The model as TransformerLens 4 wraps it."""
    module = pytest.importorskip("transformer_lens.model_bridge", reason="it came with version 3")
    boot = module.TransformerBridge.boot_transformers
    return boot("gpt2", hf_model=model, tokenizer=tokenizer)


def _hooked(model: Any, tokenizer: Any) -> Any:
    """The model rewritten with the weights converted, as up to version 3."""
    try:
        hooked, of = lens.HookedTransformer, lens.HookedTransformerConfig
    except (AttributeError, ImportError):
        pytest.skip("version 4 has no HookedTransformer")
    converted = pytest.importorskip("transformer_lens.pretrained.weight_conversions")
    own = model.config
    config = of(
        n_layers=own.n_layer, d_model=own.n_embd, n_heads=own.n_head,
        d_head=own.n_embd // own.n_head, n_ctx=own.n_positions, d_mlp=4 * own.n_embd,
        d_vocab=own.vocab_size, act_fn="gelu_new", normalization_type="LN",
        eps=own.layer_norm_epsilon,
    )  # fmt: skip
    result = hooked(config)
    result.load_state_dict(converted.convert_gpt2_weights(model, config), strict=False)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("wrapped", [_bridge, _hooked])
@pytest.mark.parametrize("unit", ["word", "token"])
def test_a_cache_makes_the_bank_that_ingest_makes(
    wrapped: Callable[[Any, Any], Any],
    unit: Any,
    tiny_model: Models,
    tmp_path: Path,
    bank_of: BankFactory,
) -> None:
    folder = tiny_model("gpt2")
    other = bank_of("stories", folder, unit=unit, batch_tokens=1)
    bank = bank_of("stories", "none", to=tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    saved = transformers.GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager")
    model = wrapped(saved.eval(), tokenizer)
    reading = tokenizer.backend_tokenizer
    with add_run(bank, "stories", "lens", layers=3, heads=4, causal=True, unit=unit) as run:
        for sentence in run.sentences():
            before = ["", *(" " * space for space in sentence.spaces)]
            pieces = [
                (number, id)
                for number, word in enumerate(sentence.words)
                for id in reading.encode(before[number] + word).ids
            ]
            words, ids = zip(*pieces, strict=True)
            _, cache = model.run_with_cache(torch.tensor([ids]))
            maps = [cache["pattern", layer] for layer in range(3)]
            run.add(sentence, tokenizer.convert_ids_to_tokens(ids), words, maps)
    with duckdb.connect() as joined:
        joined.execute(
            f"attach '{bank}' as mine (read_only); attach '{other}' as theirs (read_only)"
        )
        for table, keys, rest, near in _TABLES:
            one, two = (
                f"(select sequence.sentence, own.* exclude (sequence) from {each}.{table} as own"
                f" inner join {each}.sequence on sequence.id = own.sequence)"
                for each in ("mine", "theirs")
            )
            columns = f"sentence, {keys}, {rest}".rstrip(", ")
            for left, right in ((one, two), (two, one)):
                apart = f"select {columns} from {left} except all select {columns} from {right}"
                assert not joined.execute(apart).fetchall(), table
            for column, most in near.items():
                rows = joined.execute(
                    "select count(*), max(list_max(list_transform("
                    f"list_zip(one.{column}, two.{column}), lambda pair: abs(pair[1] - pair[2]))))"
                    f" from {one} as one inner join {two} as two using (sentence, {keys})"
                ).fetchall()
                assert rows[0][0] and rows[0][1] < most, (table, column, rows)
    if unit == "word":
        with open_bank(bank) as mine, open_bank(other) as theirs:
            counted = mine.query("best_head").drop("run")
            assert counted.height and counted.equals(theirs.query("best_head").drop("run"))


# Each table, what tells its rows from others, what is equal, and how near the rest is: weights to
# 1e-6, and what adds some thirty of them up to 1e-5.
_TABLES: list[tuple[str, str, str, dict[str, float]]] = [
    ("position", "position", "kind, segment, word, text, pieces, last_word", {}),
    ("attention", "layer, head, from_position", "", {"weights": 1e-6}),
    ("attention_map", "layer, head", "", {"received": 1e-5, "given": 1e-5}),
    ("peak", "layer, head, position", "most_attended, most_attending", {}),
]
