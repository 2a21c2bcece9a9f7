"""Hybrids, only some of whose layers have attention, are read under the model's own numbers."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import torch
import transformers
from bank_factory import BankFactory
from bank_rows import query_bank
from command_line import Cli
from fixture_types import Models, Options

from attnbank.ingest import ingest, merge_banks
from attnbank.ingest.derived.computations import compute
from attnbank.ingest.models.loading import describe, load
from attnbank.queries import open_bank
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankError

LAYERS = {"qwen3-next": (2, 3), "granite-hybrid": (2, 4), "lfm2": (2, 3), "jamba": (2,)}


@pytest.mark.usual(3)
@pytest.mark.parametrize("kind", LAYERS)
def test_the_numbers_are_those_of_the_modules(tiny_model: Models, kind: str) -> None:
    """The maps are those that the attention module of each layer returns by itself."""
    model = load(str(tiny_model(kind)))
    assert model.facts.layer_numbers == LAYERS[kind]
    assert (model.facts.layers, describe(str(tiny_model(kind))).layers) == (len(LAYERS[kind]),) * 2
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    found = model.attentions(ids, torch.ones_like(ids), torch.zeros_like(ids))
    module = transformers.AutoModel.from_pretrained(
        tiny_model(kind), attn_implementation="eager"
    ).eval()
    own: dict[int, torch.Tensor] = {}
    for number, layer in enumerate(module.layers, start=1):
        for name, each in layer.named_modules():
            if name in ("self_attn", "attention") or type(each).__name__.endswith("Attention"):
                each.register_forward_hook(
                    lambda _, __, output, number=number: own.update({number: output[1]})
                )
    with torch.inference_mode():
        module(input_ids=ids, output_attentions=True)
    assert tuple(sorted(own)) == LAYERS[kind]
    for number, each in zip(LAYERS[kind], found, strict=True):
        assert torch.equal(each, own[number])


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory, few: Path, options_for: Options) -> Path:
    """Four sentences with the tiny Granite, whose layers 2 and 4 of 4 have attention."""
    path = tmp_path_factory.mktemp("hybrid") / "b.duckdb"
    report = ingest(options_for(path, few / "stories.conllu", "granite-hybrid"))
    assert report.notes == ["only layers 2, 4 of the model have attention"]
    return path


def test_the_layers_of_a_bank_have_their_numbers(bank: Path) -> None:
    for table in ("attention", "attention_map", "peak"):
        assert query_bank(bank, f"select distinct layer from {table} order by 1") == [(2,), (4,)]
    assert query_bank(bank, "select layer_numbers, layers from model") == [([2, 4], 2)]


@pytest.mark.slow
def test_every_analysis_has_the_layers_that_there_are(bank: Path) -> None:
    compute(bank, "head_embedding")
    answered = 0
    with open_bank(bank) as opened:
        heads = opened.sql("select name from head").rows()
        assert heads == [(f"{layer}-{head}",) for layer in (2, 4) for head in range(1, 5)]
        for name, analysis in registry.analyses().items():
            try:
                frame = opened.query(analysis.relation.removesuffix("()"))
            except AttnbankError:  # it needs another kind of run
                continue
            for column in ("layer", "layer_a", "layer_b"):
                if column in frame.columns and frame.height:
                    found = set(frame[column].drop_nulls().to_list())
                    assert found <= {2, 4}, name
                    answered += 1
        distances = opened.query("head_distance").select("layer_a", "head_a", "layer_b", "head_b")
        assert distances.height == 8 * 7 // 2
        assert distances.rows()[0] == (2, 1, 2, 2)
        assert distances.rows()[-1] == (4, 3, 4, 4)
        layers = opened.sql("select distinct layer from main.head_embedding order by layer")
        assert layers.rows() == [(2,), (4,)]
    assert answered > 10


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        ("show 1 --head 1-1", 2, "2 layers (2, 4) of 4 heads: 2-1 to 4-4"),
        ("show 1 --layer 3", 2, "2 layers (2, 4) of 4 heads: 2-1 to 4-4"),
        ("find 'pattern { A =[3-1]=> B }'", 2, "2 layers (2, 4) of 4 heads: 2-1 to 4-4"),
        ("query head_error --head 3-1 --relation obj", 1, "Its heads are 2-1 to 4-4"),
    ],
)
def test_a_layer_without_attention(
    bank: Path, call: str, status: int, message: str, cli: Cli
) -> None:
    assert message in cli("-b", bank, *shlex.split(call), status=status).err


@pytest.mark.slow
def test_pictures_and_info(bank: Path, tmp_path: Path, cli: Cli) -> None:
    printed = cli("-b", bank, "info").out
    assert "2 layers with 4 heads each (2 of keys and values)" in printed
    assert "only layers 2, 4 of the model have attention" in printed
    for name in ("special_tokens", "figure_6"):
        cli("-b", bank, "plot", name, "-o", tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").stat().st_size
    cli("-b", bank, "show", "1", "--layer", "4", "-o", tmp_path / "heads.svg")


@pytest.mark.slow
def test_merged_with_another_bank(
    bank: Path, tmp_path: Path, few: Path, bank_of: BankFactory
) -> None:
    other = bank_of(few / "press.conllu", "granite-hybrid")
    merge_banks(tmp_path / "both.duckdb", [bank, other])
    both = tmp_path / "both.duckdb"
    assert query_bank(both, "select layer_numbers, sinks from model") == [([2, 4], False)]
    assert query_bank(both, "select distinct layer from attention order by 1") == [(2,), (4,)]
    assert query_bank(both, "select distinct batching from run") == [("padded",)]
