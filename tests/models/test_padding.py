"""Models whose attention padding changes are given inputs of one length only, and it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from bank_rows import change_bank, query_bank
from click.testing import CliRunner
from fixture_types import Models, Options

from attnbank.cli.app import app
from attnbank.ingest import ingest
from attnbank.ingest.models import families, loading
from attnbank.ingest.models.attention_behaviour import detect_behaviour
from attnbank.ingest.models.loading import load
from attnbank.ingest.reports import Report


@pytest.mark.usual("convbert-equal")
@pytest.mark.parametrize(
    ("kind", "batching"), [("convbert", "equal"), ("nystromformer", "equal"), ("bert", "padded")]
)
def test_maps_are_those_of_each_input_alone(
    tmp_path: Path, kind: str, batching: str, options_for: Options
) -> None:
    """Of four sentences, two of which have one length."""
    found, corpus = [], tmp_path / "rain.txt"
    corpus.write_text("Rain fell.\nShe saw the boy.\nIt stopped.\nRain fell on him.\n")
    for name, tokens in (("together", 24), ("alone", 1)):
        bank = tmp_path / f"{name}.duckdb"
        report = ingest(options_for(bank, corpus, kind, batch_tokens=tokens))
        ((weights,),) = query_bank(
            bank,
            "select flatten(list(weights order by s.sentence, layer, head, from_position))"
            " from attention inner join sequence as s on s.id = attention.sequence",
        )
        peaks = query_bank(
            bank,
            "select s.sentence, layer, head, position, most_attended, most_attending"
            " from peak inner join sequence as s on s.id = peak.sequence order by all",
        )
        (batched,) = query_bank(bank, "select batching, batches from run, run_part")
        found.append((np.array(weights), peaks, batched, report))
    (together, peaks, batched, report), (alone, others, _, _) = found
    assert batched[0] == batching
    assert 1 < batched[1] < report.inputs  # it saw several at once
    assert np.abs(together - alone).max() < 1e-4
    assert sum(one != other for one, other in zip(peaks, others, strict=True)) == 0
    told = [note for note in report.notes if "padding" in note]
    assert bool(told) == (batching == "equal")
    result = CliRunner().invoke(app, ["-b", str(tmp_path / "together.duckdb"), "info"]).output
    assert ("padding changes its attention" in result) == (batching == "equal")


def test_what_a_trial_says_of_a_model() -> None:
    """Of attention made for it: even, even over padding too, and dependent on the other inputs."""

    def attending(weights: Callable[[Any, Any], Any]) -> str:
        def attend(ids: Any, mask: Any, segments: Any) -> list[Any]:
            return [weights(ids, mask)[:, None, None, :].expand(-1, 2, ids.shape[1], -1)]

        return detect_behaviour("it", attend, range(50), 0, None).batching

    def even(ids: Any, mask: Any) -> Any:
        return mask / mask.sum(1, keepdim=True)

    def even_with_padding(ids: Any, mask: Any) -> Any:
        return torch.ones_like(ids) / ids.shape[1]

    def by_neighbours(ids: Any, mask: Any) -> Any:
        return torch.softmax(ids.sum(0).double() / 1000, 0).expand(ids.shape)

    assert attending(even) == "padded"
    assert attending(even_with_padding) == "equal"
    assert attending(by_neighbours) == "single"


@pytest.mark.parametrize("kind", ["convbert", "nystromformer"])
def test_a_control_is_read_as_its_model_is(tiny_model: Models, kind: str) -> None:
    """Random weights attend almost evenly, so that padding changes little, but maxima anyway."""
    folder = str(tiny_model(kind))
    assert load(folder).batching == load(folder, random_seed=1).batching == "equal"


def test_the_trial_finds_it_by_itself(tiny_model: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "FAMILIES", {})
    for kind, batching in (("convbert", "equal"), ("nystromformer", "equal"), ("bert", "padded")):
        assert load(str(tiny_model(kind))).batching == batching


def test_one_at_a_time(
    tmp_path: Path,
    few: Path,
    tiny_model: Models,
    monkeypatch: pytest.MonkeyPatch,
    options_for: Options,
) -> None:
    model = replace(load(str(tiny_model("bert"))), batching="single")
    monkeypatch.setattr(loading, "load", lambda *_, **__: model)
    report = ingest(options_for(tmp_path / "b", few / "stories.conllu"))
    assert (report.inputs, report.batches) == (4, 4)
    assert any("each input has its own batch" in note for note in report.notes)


@pytest.mark.slow
def test_a_run_that_was_padded_is_another(tmp_path: Path, few: Path, options_for: Options) -> None:
    """An older version padded whatever it was given, and said nothing of it in the bank."""
    bank = tmp_path / "b.duckdb"

    def ingested() -> Report:
        return ingest(options_for(bank, few / "stories.conllu", "convbert"))

    first = ingested()
    assert ingested().state == "unchanged"
    change_bank(bank, "update run set batching = null")
    again = ingested()
    assert (again.state, again.run) == ("new", f"{first.run}-2")
