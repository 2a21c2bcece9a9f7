"""Models in which a token sees only some tokens back: maps are kept, and the bound is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from command_line import Cli
from fixture_types import Models, Options

from attnbank.ingest import ingest
from attnbank.ingest.models.loading import load

WINDOW = 6


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("kind", "layer_types", "bounded"),
    [
        ("Mistral", None, (0, 1, 2)),
        ("Gemma2", ["sliding_attention", "full_attention", "sliding_attention"], (0, 2)),
        ("gpt-oss", ["sliding_attention", "full_attention", "sliding_attention"], (0, 2)),
        ("gpt-oss", ["full_attention"] * 3, ()),
    ],
)
def test_a_sliding_window_is_told(
    tmp_path: Path,
    few: Path,
    tiny_model: Models,
    cli: Cli,
    kind: str,
    layer_types: list[str] | None,
    bounded: tuple[int, ...],
    options_for: Options,
) -> None:
    """A token sees as many tokens as the bank says, itself among them, in those layers."""
    given = {"sliding_window": WINDOW} | ({"layer_types": layer_types} if layer_types else {})
    own = kind if kind == "gpt-oss" else "llama"  # whose tokenizer it has
    folder = Path(shutil.copytree(tiny_model(own), tmp_path / "model"))
    config = json.loads((folder / "config.json").read_text())
    if own == kind:
        (folder / "config.json").write_text(json.dumps(config | given))
    else:
        size = {"vocab_size": config["vocab_size"], "hidden_size": 32, "intermediate_size": 64}
        shape = {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2}
        made = getattr(transformers, f"{kind}Config")(**size, **shape, head_dim=8, **given)
        getattr(transformers, f"{kind}Model")(made).save_pretrained(folder)
    model = load(str(folder))
    assert model.sources is not None
    ids = torch.arange(5, 25)[None]
    maps = model.attentions(ids, torch.ones_like(ids), torch.zeros_like(ids))
    for layer, each in enumerate(maps):
        farthest = max(
            row - column
            for row in range(20)
            for column in range(20)
            if bool((each[0, :, row, column] > 0).any())
        )
        assert farthest == (WINDOW - 1 if layer in bounded else 19)
    assert model.facts.causal
    assert model.facts.sliding_window == (WINDOW if bounded else None)
    path = tmp_path / "b.duckdb"
    report = ingest(options_for(path, few / "stories.conllu", folder, limit=1))
    assert any("sliding window" in note for note in report.notes) == bool(bounded)
    assert ("no farther than 6 tokens" in cli("-b", path, "info").out) == bool(bounded)
