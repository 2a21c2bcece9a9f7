"""A probe that cannot be trained gets a clear error, and the bank is as it was."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import duckdb
import pytest
import toy_attention as toy
from bank_rows import query_bank

from attnbank.ingest.derived.probes import ProbeOptions, train_probe
from attnbank.ingest.derived.probes.tasks import EmbeddingsError
from attnbank.sql.errors import AttnbankError, BankError, CallError, QueryError


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that fit (train, test) and one each that does not, as its name says."""
    path = tmp_path_factory.mktemp("errors") / "toy.duckdb"
    names = ("train", "test", "token", "document", "unfinished", "other-model", "no-trees", "empty")
    toy.make_bank(path, dict.fromkeys(names, 6))
    with duckdb.connect(str(path)) as connection:
        for statement in (
            "update run set unit = 'token' where name = 'token'",
            "update run set context = 'document' where name = 'document'",
            "update run set finished = null where name = 'unfinished'",
            "insert into model select * replace (2 as id, 'cc' as sha256, 7 as random_seed)"
            " from model",
            "update run set model = 2 where name = 'other-model'",
            "update word set head_index = null where sentence in"
            " (select sentence from sequence inner join run on run.id = sequence.run"
            " where run.name = 'no-trees')",
            "delete from sequence where run in (select id from run where name = 'empty')",
        ):
            connection.execute(statement)
    return path


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    ("kind", "train", "test", "options", "error", "fact", "remedy"),
    [
        ("atention", "train", "test", {}, CallError, "called atention", "Did you mean attention"),
        ("attention", None, "test", {}, CallError, "needs a run to train on", "train_run"),
        ("attention", "trian", "test", {}, CallError, "no run trian", "Did you mean train?"),
        ("attention", "train", "99", {}, CallError, "no run 99", "train, test"),
        ("attention", "token", "test", {}, CallError, "positions are tokens", "train"),
        ("attention", "train", "document", {}, CallError, "inputs are documents", "train, test"),
        ("attention", "unfinished", "test", {}, CallError, "is unfinished", "Finish it first"),
        ("attention", "train", "other-model", {}, CallError, "of different models", "one model"),
        ("attention", "no-trees", "test", {}, QueryError, "has no trees", "dependencies"),
        ("attention", "train", "no-trees", {}, QueryError, "has no trees", "CoNLL-U"),
        ("right_branching", None, "no-trees", {}, QueryError, "has no trees", "--spacy"),
        ("attention", "train", "empty", {}, QueryError, "has no sentences", "another run"),
        ("attention", "train", "train", {}, CallError, "scored on the sentences", "splits"),
        ("attention", "1", "test", {"train_split": "x"}, CallError, "in split x", "no splits"),
        ("attention", "train", "test", {"root_at": "x"}, CallError, "--root-at", "published"),
        ("attention", "train", "test", {"epochs": 0}, CallError, "--epochs is", "from 1 to"),
        ("attention", "train", "test", {"held_out": 1.0}, CallError, "--held-out", "to below 1"),
        ("attention", "train", "test", {"learning_rate": 0}, CallError, "--learning-rate", "above"),
        ("attention", "train", "test", {"memory": -1}, CallError, "--memory is out", "from 0 to"),
        ("attention", "train", "test", {"device": "abacus"}, CallError, "abacus", "--device cpu"),
        ("attention", "unheard", "unheard", {}, CallError, "no run unheard", "train, test"),
        ("attention", "1", "train", {}, CallError, "scored on the sentences", "splits"),
        ("attention_words", "train", "test", {}, CallError, "folder ./toy", "--model FOLDER"),
        ("attention_words", "train", "test", {"model": "./x"}, CallError, "embeddings of ./x", "G"),
        ("attention", "train", "test", {"device": "meta"}, CallError, "meta", "--device cpu"),
        ("attention", "train", "test", {"seed": 2**31}, CallError, "--seed", "to 2,147,483,647"),
        ("attention", "train", "test", {"epochs": 2**31}, CallError, "--epochs is out", "to 2,"),
        ("attention", "train", "test", {"resamples": 10**9}, CallError, "--resamples", "100,000"),
        ("distance_words", "train", "test", {"embeddings": "./x"}, CallError, "neither", "model"),
    ],
)  # fmt: skip
def test_a_clear_error_and_nothing_changed(
    bank: Path,
    kind: str,
    train: str | None,
    test: str,
    options: dict[str, Any],
    error: type[AttnbankError],
    fact: str,
    remedy: str,
) -> None:
    before = hashlib.sha256(bank.read_bytes()).hexdigest()
    with pytest.raises(error) as raised:
        train_probe(bank, kind, train, test, ProbeOptions(**options))
    assert type(raised.value) is error
    assert fact in raised.value.fact
    assert remedy in raised.value.remedy
    assert hashlib.sha256(bank.read_bytes()).hexdigest() == before
    assert not bank.with_name(bank.name + ".wal").exists()


def test_embeddings_of_another_dimension(bank: Path, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("w1 1 2 3\nw2 1 2\n")
    before = bank.read_bytes()
    with pytest.raises(EmbeddingsError, match=r":2: a vector of 2 values, but .* 3"):
        train_probe(bank, "attention_words", "train", "test", ProbeOptions(embeddings=str(path)))
    assert bank.read_bytes() == before


def test_splits_that_a_run_has_are_named(tmp_path: Path) -> None:
    path = toy.make_bank(tmp_path / "toy.duckdb", {"all": 15}, splits=("dev", "train"))
    with pytest.raises(CallError, match=r"no sentences in split test\.\nIt has: dev, train\."):
        train_probe(
            path, "attention", "all", "all", ProbeOptions(train_split="train", test_split="test")
        )


def test_no_bank(tmp_path: Path) -> None:
    with pytest.raises(BankError, match="There is no bank"):
        train_probe(tmp_path / "none.duckdb", "attention", "train", "test")
    assert not (tmp_path / "none.duckdb").exists()


def _counts(path: Path) -> list[tuple[int, ...]]:
    return [
        query_bank(path, f"select count(*) from {table}")[0]
        for table in ("probe", "probe_score", "probe_weight")
    ]


@pytest.mark.slow
def test_a_probe_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    path = toy.make_bank(tmp_path / "toy.duckdb", {"train": 30, "test": 10})

    def stop(epoch: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_probe(path, "attention", "train", "test", on_progress=stop)
    with pytest.raises(QueryError, match="Training diverged"):
        train_probe(path, "attention", "train", "test", ProbeOptions(learning_rate=1e37))
    with duckdb.connect(str(path)) as connection:
        first = "(select min(id) from sequence where run = 2)"  # of the test run
        connection.execute(f"delete from attention where sequence = {first} and from_position = 1")
    with pytest.raises(QueryError, match="lacks the attention of some of its sentences"):
        train_probe(path, "attention", "train", "test", ProbeOptions(epochs=1))
    assert _counts(path) == [(0,), (0,), (0,)]
