"""Sinks and heads of repetition equal a slow implementation written apart, on text and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import oracle_decoders as slow
import pytest
from bank_factory import BankFactory
from fixture_types import Models

from attnbank.ingest import IngestOptions, ingest
from attnbank.queries import open_bank
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import AttnbankError

RUNS: dict[str, dict[str, Any]] = {
    "text": {"unit": "token", "limit": 12},
    "words": {"unit": "word", "limit": 12},
    "documents": {"unit": "token", "context": "document", "max_tokens": 40, "limit": 8},
    "one document": {"unit": "token", "format": "lines", "limit": 12},
    "made": {"unit": "token", "repeat": 7, "limit": 5},
    "control": {"unit": "token", "repeat": 7, "limit": 5, "random_weights": 3},
    "sibling": {"unit": "token", "repeat": 7, "limit": 5, "random_weights": 1},
}
MODELS = {"gpt2": True, "bert": False}
"""Whether each is causal."""
EXCLUDED = [
    {"exclude_bos": bos, "exclude_current_token": current}
    for bos in (False, True)
    for current in (False, True)
]


class Made:
    """A bank of one model, whose runs are made when they are first asked for."""

    def __init__(self, folder: Path, model: Path, corpus: Path, *, is_causal: bool) -> None:
        self.path, self.is_causal = folder / "bank.duckdb", is_causal
        self._model, self._corpus = model, corpus
        self._names: dict[str, str] = {}

    def name(self, what: str) -> str:
        """The name of a run."""
        if what not in self._names:
            options = RUNS[what]
            corpora = () if "repeat" in options else (str(self._corpus),)
            if what == "one document":
                one = self.path.with_name("one.txt")
                one.write_text("the cat saw the dog and the cat ran\nthe dog ran and ran\n" * 8)
                corpora = (str(one),)
            made = ingest(IngestOptions(corpora, self.path, str(self._model), **options))
            self._names[what] = made.run
        return self._names[what]


@pytest.fixture(scope="module", params=MODELS)
def made(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    tiny_model: Models,
    sample: Path,
) -> Made:
    folder, model = tmp_path_factory.mktemp("decoders"), tiny_model(request.param)
    return Made(folder, model, sample / "stories.conllu", is_causal=MODELS[request.param])


def _inputs(connection: duckdb.DuckDBPyConnection, name: str) -> list[slow.Read]:
    ((run,),) = connection.execute("select id from run where name = ?", [name]).fetchall()
    return slow.read(connection, run)


def _rows(connection: duckdb.DuckDBPyConnection, call: str, keys: int) -> dict[Any, dict[str, Any]]:
    found = connection.execute(f"from {call}")
    names = [each[0] for each in found.description]
    rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    key = [tuple(row[name] for name in names[:keys]) for row in rows]
    return dict(zip(key if keys > 1 else [each[0] for each in key], rows, strict=True))


def _check(found: Mapping[Any, dict[str, Any]], expected: Mapping[Any, dict[str, Any]]) -> None:
    assert found.keys() == expected.keys()
    for key, want in expected.items():
        for column, value in want.items():
            if value is None or isinstance(value, str):
                assert found[key][column] == value, (key, column)
                continue
            # The quantile of Student's t is good to a thousandth.
            half = None
            if column.endswith(("low", "high")):
                of = column.removesuffix("low").removesuffix("high")
                half = want[f"{of}high"] - want[f"{of}low"]
            assert found[key][column] == pytest.approx(
                value, abs=1e-7 if half is None else 1e-7 + 2e-3 * half
            ), (key, column)


@pytest.mark.usual("gpt2-made-both", "bert-one document-bos")
@pytest.mark.parametrize("excluded", EXCLUDED, ids=["all", "current", "bos", "both"])
@pytest.mark.parametrize("what", RUNS)
def test_heads_of_repetition(made: Made, what: str, excluded: dict[str, bool]) -> None:
    run = made.name(what)
    given = ", ".join(f"{name} := {value}" for name, value in excluded.items())
    with open_to_read(made.path) as connection:
        inputs = _inputs(connection, run)
        for name in slow.PATTERNS:
            rows = _rows(connection, f"{name}(run := '{run}', {given})", 2)
            expected = slow.scores(inputs, name, is_causal=made.is_causal, **excluded)
            _check(rows, expected)
            assert any(each["n"] for each in expected.values())
            assert len({each["score"] for each in expected.values()}) > 6  # that heads differ


@pytest.mark.usual("gpt2-documents", "bert-one document")
@pytest.mark.parametrize("what", RUNS)
def test_sinks(made: Made, what: str) -> None:
    run = made.name(what)
    with open_to_read(made.path) as connection:
        inputs = _inputs(connection, run)
        usual = float(np.median([input.maps.mean() for input in inputs]))
        for epsilon, position in ((0.3, 0), (usual, 2)):
            given = f"run := '{run}', epsilon := {epsilon}"
            expected = slow.sinks(inputs, epsilon, is_causal=made.is_causal)
            assert epsilon == 0.3 or len({row["sink"] for row in expected.values()}) > 1
            _check(_rows(connection, f"attention_sink({given})", 1), expected)
            at = f"{given}, to_position := {position}"
            one = _rows(connection, f"attention_sink({at})", 1)
            _check(one, {position: expected[position]})
            heads = slow.sink_heads(inputs, epsilon, position, is_causal=made.is_causal)
            _check(_rows(connection, f"sink_head({at})", 2), heads)


@pytest.mark.slow
def test_the_control_is_the_same_head_of_another_run(made: Made) -> None:
    names = {what: made.name(what) for what in ("made", "control", "sibling")}
    with open_to_read(made.path) as connection:
        for name in slow.PATTERNS:
            own, other = (
                _rows(connection, f"{name}(run := '{names[what]}')", 2)
                for what in ("control", "sibling")
            )
            beside = _rows(
                connection,
                f"{name}(run := '{names['made']}', control_run := '{names['control']}')",
                2,
            )
            assert {key: row["control"] for key, row in beside.items()} == {
                key: row["weight"] for key, row in own.items()
            }
            for key, row in beside.items():
                weights = [each[key]["weight"] for each in (own, other)]
                assert (row["control_low"], row["control_high"]) == (min(weights), max(weights))
            assert {row["control_seeds"] for row in beside.values()} == {2}
            assert any(row["control_low"] < row["control_high"] for row in beside.values())
            assert {row["control_run"] for row in beside.values()} == {names["control"]}
            assert {row["run"] for row in beside.values()} == {names["made"]}
            alone = _rows(connection, f"{name}(run := '{names['made']}')", 2)
            assert {row["control"] for row in alone.values()} == {None}
            assert {row["control_seeds"] for row in alone.values()} == {0}
            of_trained = f"{name}(run := '{names['control']}', control_run := '{names['made']}')"
            assert {row["control_seeds"] for row in _rows(connection, of_trained, 2).values()} == {
                1
            }


@pytest.mark.usual("gpt2")
def test_a_control_that_is_not_there(made: Made) -> None:
    made.name("made")
    with (
        open_to_read(made.path) as connection,
        pytest.raises(duckdb.Error, match="There is no run nowhere that can be a control"),
    ):
        connection.execute("from induction_head(control_run := 'nowhere')").fetchall()
    with open_bank(made.path) as opened, pytest.raises(AttnbankError, match="no run nowhere"):
        opened.query("induction_head", control_run="nowhere")


@pytest.mark.usual("gpt2")
def test_on_the_made_corpus_every_second_token_has_exactly_one_place(made: Made) -> None:
    run = made.name("made")
    for name in ("induction_head", "duplicate_token_head"):
        with open_to_read(made.path) as connection:
            rows = _rows(connection, f"{name}(run := '{run}')", 2)
        assert {(row["n"], row["sequences"]) for row in rows.values()} == {(7 * 5, 5)}


@pytest.mark.slow
def test_peaks_are_enough_for_what_needs_no_weights(bank_of: BankFactory) -> None:
    of_tokens: dict[str, Any] = {"unit": "token", "limit": 10}
    whole = bank_of("sample", "gpt2", **of_tokens)
    bank = bank_of("sample", "gpt2", after=whole, keep="peaks", **of_tokens)
    with open_to_read(bank) as connection:
        names = [row[0] for row in connection.execute("select name from run").fetchall()]
        for name in ("attention_sink", "sink_head", "previous_token_head"):
            keys = 1 if name == "attention_sink" else 2
            first, second = (_rows(connection, f"{name}(run := '{run}')", keys) for run in names)
            _check(second, {key: row | {"run": names[1]} for key, row in first.items()})
        with pytest.raises(duckdb.Error, match="only its peaks and sums are kept"):
            connection.execute(f"from induction_head(run := '{names[1]}')").fetchall()
        with pytest.raises(duckdb.Error, match="only its peaks and sums are kept"):
            told = f"run := '{names[1]}', exclude_bos := true"
            connection.execute(f"from previous_token_head({told})").fetchall()
