"""The sums of attention maps: an ingest computes what the statement finds in the weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bounds
import duckdb
import numpy as np
import pytest
from case_bank import attention_maps

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.attention.sums import PositionKinds, map_sums

SUMS = (
    "to_cls", "to_sep", "to_punctuation", "to_other", "sep_to_sep", "word_to_word", "same_segment",
    "word_before", "word_itself", "word_after", "entropy", "entropy_from_cls",
)  # fmt: skip
LISTS = ("offsets", "received", "given")
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "words": ("bert", {}),
    "pairs": ("bert", {"context": "pair", "unit": "token", "max_tokens": 48}),
    "documents": ("roberta", {"context": "document", "max_tokens": 60}),
    "decoder": ("gpt2", {"unit": "token", "decimals": 3}),
}


@pytest.fixture(scope="module", params=RUNS)
def bank(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    sample: Path,
    tiny_model: Callable[[str], Path],
) -> Path:
    kind, options = RUNS[request.param]
    path = tmp_path_factory.mktemp("sums") / f"{request.param}.duckdb"
    corpus = str(sample / "stories.conllu")
    ingest(IngestOptions((corpus,), path, str(tiny_model(kind)), **options))
    return path


@pytest.mark.usual("words", "decoder")
def test_they_are_what_the_weights_in_the_bank_give(bank: Path) -> None:
    with duckdb.connect(str(bank), read_only=True) as connection:
        connection.execute(f"create temporary table wanted as {attention_maps()}")
        (names, found), (others, expected) = (
            _rows(connection, table) for table in ("attention_map", "wanted")
        )
        assert names == others
        ((maps, longest),) = connection.execute(
            "select sum(model.layers * model.heads), max(sequence.positions) from sequence"
            " inner join run on run.id = sequence.run inner join model on model.id = run.model"
        ).fetchall()
    assert len(found) == len(expected) == maps
    within = bounds.sums(longest**2)
    for row, other in zip(found, expected, strict=True):
        for name, one, two in zip(names, row, other, strict=True):
            if name in SUMS and one is not None:
                assert one == pytest.approx(two, abs=within * max(1, abs(two))), name
            elif name in LISTS:
                np.testing.assert_allclose(one, two, rtol=0, atol=within * longest, err_msg=name)
            else:  # where a weight is the largest, and how large, involves no arithmetic
                assert one == two, name


def _rows(
    connection: duckdb.DuckDBPyConnection, table: str
) -> tuple[list[str], list[tuple[Any, ...]]]:
    rows = connection.execute(f"select * from {table} order by sequence, layer, head")
    return [each[0] for each in rows.description or []], rows.fetchall()


def test_a_list_has_a_value_for_each_position(bank: Path) -> None:
    with duckdb.connect(str(bank), read_only=True) as connection:
        found = connection.execute(
            "select bool_and(len(received) = positions and len(given) = positions"
            " and len(largest_positions) = positions and len(largest_weights) = positions"
            " and len(offsets) = 21)"
            " from attention_map inner join sequence on sequence.id = attention_map.sequence"
        ).fetchall()
    assert found == [(True,)]


@pytest.mark.parametrize("ends", ["anything", "sep"])
@pytest.mark.parametrize("size", [1, 2, 3, 11, 40])
def test_sums_of_loops(size: int, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sum by its definition, position by position; also where the maps come in parts.

    [SEP] stands anywhere, or at both ends and nowhere else.
    """
    rng = np.random.default_rng(size)
    pooled = rng.dirichlet(np.ones(size), (6, size)).astype(np.float32)
    kind = rng.choice(["cls", "sep", "apart", "first", "stop", "second"], size)
    if ends == "sep":
        kind[kind == "sep"] = "first"
        kind[0] = kind[-1] = "sep"
    flags = PositionKinds(
        cls=kind == "cls",
        sep=kind == "sep",
        first=kind == "apart",
        punctuation=kind == "stop",
        words=np.isin(kind, ["first", "stop", "second"]),
        second=kind == "second",
    )
    found = map_sums(pooled, flags)
    monkeypatch.setattr("attnbank.ingest.attention.sums.AT_ONCE", 2 * size**2)
    in_parts = map_sums(pooled, flags)
    for name, one in vars(found).items():
        np.testing.assert_array_equal(one, getattr(in_parts, name), err_msg=name)
    for at, weights in enumerate(pooled.astype(np.float64)):
        for name, wanted in _by_loops(weights, kind).items():
            got = found.totals[at, SUMS.index(name)]
            np.testing.assert_allclose(got, wanted, rtol=bounds.sums(size**2), err_msg=name)
        for distance in range(-10, 11):
            wanted = sum(weights[i, i + distance] for i in range(size) if 0 <= i + distance < size)
            assert found.offsets[at, distance + 10] == pytest.approx(wanted, abs=1e-13)
        for i in range(size):
            assert found.received[at, i] == pytest.approx(sum(weights[:, i]), rel=1e-13)
            given = sum(weights[i, j] for j in range(size) if flags.words[j] and j != i)
            assert found.given[at, i] == pytest.approx(given, abs=1e-13)
            others = [j for j in range(size) if kind[j] != "sep"]
            best = max(others, key=lambda j: (weights[i, j], -j)) if others else -1
            is_sep = kind[i] == "sep"
            assert found.largest_positions[at, i] == (-1 if is_sep else best)
            assert found.largest_weights[at, i] == (0 if is_sep else pooled[at, i, best])


def _by_loops(weights: np.ndarray, kind: np.ndarray) -> dict[str, float]:
    """The sums of one map, [P, P], by kind of position [P]."""
    size = len(kind)
    total = dict.fromkeys(SUMS, 0.0)
    entropies = []
    for i in range(size):
        is_word = kind[i] not in ("cls", "sep", "apart")
        entropies.append(-sum(each * np.log(each) for each in weights[i] if each > 0))
        for j in range(size):
            weight = weights[i, j]
            to = {"cls": "to_cls", "sep": "to_sep", "stop": "to_punctuation"}
            if kind[j] != "apart":
                total[to.get(kind[j], "to_other")] += weight
            to_word = kind[j] not in ("cls", "sep", "apart")
            if kind[i] == kind[j] == "sep":
                total["sep_to_sep"] += weight
            if is_word and to_word:
                total["word_to_word"] += weight
                if (kind[i] == "second") == (kind[j] == "second"):
                    total["same_segment"] += weight
            beside = {-1: "word_before", 0: "word_itself", 1: "word_after"}.get(j - i)
            if beside is not None and to_word:
                total[beside] += weight
    total["entropy"] = float(np.mean(entropies))
    from_cls = [each for each, one in zip(entropies, kind, strict=True) if one == "cls"]
    total["entropy_from_cls"] = float(np.mean(from_cls)) if from_cls else float("nan")
    return total
