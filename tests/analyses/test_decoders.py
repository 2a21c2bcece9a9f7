"""Sinks and heads of repetition equal a slow implementation written apart, on text and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import oracle_decoders as slow
import pytest

from attnbank.ingest import IngestOptions, ingest
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import AttnbankError

RUNS: dict[str, dict[str, Any]] = {
    "text": {"unit": "token", "limit": 30},
    "words": {"unit": "word", "limit": 20},
    "documents": {"unit": "token", "context": "document", "max_tokens": 40, "limit": 12},
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


@pytest.fixture(scope="module", params=MODELS)
def bank(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    tiny_model: Callable[[str], Path],
    sample: Path,
) -> tuple[Path, bool, dict[str, str]]:
    """A bank with the runs of a model, whether it is causal, and their names."""
    path = tmp_path_factory.mktemp("decoders") / "bank.duckdb"
    model = str(tiny_model(request.param))
    names = {}
    for what, options in RUNS.items():
        corpora = () if "repeat" in options else (str(sample),)
        if what == "one document":
            one = path.parent / "one.txt"
            one.write_text("the cat saw the dog and the cat ran\nthe dog ran and ran\n" * 8)
            corpora = (str(one),)
        names[what] = ingest(IngestOptions(corpora, path, model, **options)).run
    return path, MODELS[request.param], names


@pytest.fixture
def connection(bank: tuple[Path, bool, dict[str, str]]) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_to_read(bank[0]) as opened:
        yield opened


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


@pytest.mark.usual("gpt2-made-all", "gpt2-made-both", "bert-one document-bos")
@pytest.mark.parametrize("excluded", EXCLUDED, ids=["all", "current", "bos", "both"])
@pytest.mark.parametrize("what", RUNS)
def test_heads_of_repetition(
    bank: tuple[Path, bool, dict[str, str]],
    connection: duckdb.DuckDBPyConnection,
    what: str,
    excluded: dict[str, bool],
) -> None:
    _, is_causal, names = bank
    inputs = _inputs(connection, names[what])
    given = ", ".join(f"{name} := {value}" for name, value in excluded.items())
    for name in slow.PATTERNS:
        rows = _rows(connection, f"{name}(run := '{names[what]}', {given})", 2)
        expected = slow.scores(inputs, name, is_causal=is_causal, **excluded)
        _check(rows, expected)
        assert any(each["n"] for each in expected.values())
        assert len({each["score"] for each in expected.values()}) > 6  # that heads differ at all


@pytest.mark.usual("gpt2-documents", "bert-made", "gpt2-one document")
@pytest.mark.parametrize("what", RUNS)
def test_sinks(
    bank: tuple[Path, bool, dict[str, str]], connection: duckdb.DuckDBPyConnection, what: str
) -> None:
    _, is_causal, names = bank
    inputs = _inputs(connection, names[what])
    usual = float(np.median([input.maps.mean() for input in inputs]))
    for epsilon in (0.3, usual):
        told = f"run := '{names[what]}', epsilon := {epsilon}"
        expected = slow.sinks(inputs, epsilon, is_causal=is_causal)
        assert epsilon == 0.3 or len({each["sink"] for each in expected.values()}) > 1
        _check(_rows(connection, f"attention_sink({told})", 1), expected)
        for position in (0, 2):
            one = _rows(connection, f"attention_sink({told}, to_position := {position})", 1)
            _check(one, {position: expected[position]})
            heads = slow.sink_heads(inputs, epsilon, position, is_causal=is_causal)
            _check(_rows(connection, f"sink_head({told}, to_position := {position})", 2), heads)


@pytest.mark.slow
def test_the_control_is_the_same_head_of_another_run(
    bank: tuple[Path, bool, dict[str, str]], connection: duckdb.DuckDBPyConnection
) -> None:
    _, _, names = bank
    for name in slow.PATTERNS:
        own, other = (
            _rows(connection, f"{name}(run := '{names[what]}')", 2)
            for what in ("control", "sibling")
        )
        beside = _rows(
            connection, f"{name}(run := '{names['made']}', control_run := '{names['control']}')", 2
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
        assert {row["control_seeds"] for row in _rows(connection, of_trained, 2).values()} == {1}


@pytest.mark.usual("gpt2")
def test_a_control_that_is_not_there(
    bank: tuple[Path, bool, dict[str, str]], connection: duckdb.DuckDBPyConnection
) -> None:
    with pytest.raises(duckdb.Error, match="There is no run nowhere that can be a control"):
        connection.execute("from induction_head(control_run := 'nowhere')").fetchall()
    from attnbank.queries import open_bank

    with open_bank(bank[0]) as opened, pytest.raises(AttnbankError, match="no run nowhere"):
        opened.query("induction_head", control_run="nowhere")


@pytest.mark.usual("gpt2")
def test_on_the_made_corpus_every_second_token_has_exactly_one_place(
    bank: tuple[Path, bool, dict[str, str]], connection: duckdb.DuckDBPyConnection
) -> None:
    _, _, names = bank
    for name in ("induction_head", "duplicate_token_head"):
        rows = _rows(connection, f"{name}(run := '{names['made']}')", 2)
        assert {(row["n"], row["sequences"]) for row in rows.values()} == {(7 * 5, 5)}


@pytest.mark.slow
def test_peaks_are_enough_for_what_needs_no_weights(
    tmp_path: Path, tiny_model: Callable[[str], Path], sample: Path
) -> None:
    bank, model = tmp_path / "bank.duckdb", str(tiny_model("gpt2"))
    for keep in ("weights", "peaks"):
        options = IngestOptions((str(sample),), bank, model, unit="token", limit=10, keep=keep)
        ingest(options)
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
