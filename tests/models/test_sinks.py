"""Models whose rows of attention sum to less than 1 are kept and told; scores are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
import transformers
from fixture_types import Models, Options

from attnbank.ingest import ingest
from attnbank.ingest.derived.computations import compute
from attnbank.ingest.models.loading import load
from attnbank.ingest.models.runtime import ModelError
from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankWarning, QueryError


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory, few: Path, options_for: Options) -> Path:
    """Four sentences with the tiny GPT-OSS, whose every head has a sink."""
    path = tmp_path_factory.mktemp("sinks") / "b.duckdb"
    report = ingest(options_for(path, few / "stories.conllu", "gpt-oss"))
    assert (report.inputs, report.skipped) == (4, {})
    assert any("sum to less than 1" in note for note in report.notes)
    return path


def test_what_is_missing_is_what_the_sink_takes(bank: Path, tiny_model: Models) -> None:
    """Against the maps of the model itself, of one input at a time, with loops."""
    model = load(str(tiny_model("gpt-oss")))
    assert model.facts.sinks
    vocabulary = model.input_tokenizer.tokenizer.get_vocab()
    with open_bank(bank) as opened:
        missing = opened.query("missing_attention")
        rows = opened.sql(
            "select sequence, pieces from position order by sequence, position"
        ).rows()
    module = transformers.AutoModel.from_pretrained(
        tiny_model("gpt-oss"), attn_implementation="eager"
    ).eval()
    expected: dict[tuple[int, int], list[float]] = {}
    for sequence in dict.fromkeys(row[0] for row in rows):
        words = [pieces for owner, pieces in rows if owner == sequence]
        ids = torch.tensor([[vocabulary[piece] for pieces in words for piece in pieces]])
        with torch.inference_mode():
            attentions = module(input_ids=ids, output_attentions=True).attentions
        for layer, maps in enumerate(attentions, start=1):
            for head, weights in enumerate(maps[0].double(), start=1):
                at, lacking = 0, 0.0
                for pieces in words:  # from a split word, the mean over its pieces
                    lacking += 1 - float(weights[at : at + len(pieces)].sum(1).mean())
                    at += len(pieces)
                expected.setdefault((layer, head), []).append(lacking / len(words))
    assert missing.height == len(expected) == 12
    for layer, head, share, sequences, _ in missing.rows():
        assert sequences == 4
        assert 0.01 < share < 0.99
        assert share == pytest.approx(sum(expected[layer, head]) / 4, abs=1e-6)


def test_analyses_of_whole_distributions_refuse_it(bank: Path) -> None:
    with open_bank(bank) as opened:
        assert opened.query("best_head").height
        assert opened.query("special_tokens").height == 12
        for name in ("entropy", "head_distance", "layer_similarity", "head_embedding"):
            with pytest.raises(QueryError, match="have sinks, so that attention does not sum to 1"):
                opened.query(name)
        with pytest.raises(QueryError, match="have sinks"):
            opened.query("paper.figure_4")
        (error,) = opened.sql("select sinks from model").rows()
        assert error == (True,)
    with pytest.raises(QueryError, match="have sinks"):
        compute(bank, "head_distance")


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_models_without_sinks(tiny_model: Models, kind: str) -> None:
    assert not load(str(tiny_model(kind))).facts.sinks


def test_scores_are_refused_at_once(tmp_path: Path, few: Path, options_for: Options) -> None:
    """SqueezeBERT returns what goes into the softmax."""
    with pytest.raises(ModelError, match="returns attention scores, not shares"):
        ingest(options_for(tmp_path / "b.duckdb", few / "stories.conllu", "squeezebert"))
    assert not (tmp_path / "b.duckdb").exists()


def test_sinks_that_are_applied_afterwards_are_told(tmp_path: Path, tiny_model: Models) -> None:
    """Granite's maps are those of before its sinks: a trial sees whole rows, so its name tells."""
    shutil.copytree(tiny_model("llama"), tmp_path, dirs_exist_ok=True)
    config = transformers.AutoConfig.from_pretrained(tmp_path).to_dict()
    names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
             "num_key_value_heads", "intermediate_size", "max_position_embeddings")  # fmt: skip
    config = {name: config[name] for name in names}
    transformers.GraniteSWAModel(
        transformers.GraniteSWAConfig(**config, sliding_window=4)
    ).save_pretrained(tmp_path)
    with pytest.warns(AttnbankWarning, match="the share of the sink is not"):
        model = load(str(tmp_path))
    assert not model.facts.sinks
