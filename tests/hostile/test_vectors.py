"""Word vectors that somebody else made, and the model that a received bank names, for a probe."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import duckdb
import hostile
import pytest
from bank_factory import BankFactory
from fixture_types import Models, Options
from hostile import Refused

from attnbank.ingest import ingest
from attnbank.ingest.derived.probes import ProbeOptions, train_probe
from attnbank.ingest.derived.probes.tasks import EmbeddingsError, file_vectors
from attnbank.sql.errors import AttnbankError, CallError

pytestmark = pytest.mark.usefixtures("one_thread")

GLOVE = "the 0.5 -1 2\nRain 1 2 3\nrain 4 5 6\nfell 0 1e-1 0\n"


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("seed", range(8))
def test_damaged_vectors_are_read_or_refused(tmp_path: Path, seed: int, is_packed: bool) -> None:
    _check_damaged(tmp_path, seed, is_packed)


@pytest.mark.soak
def test_vectors_damaged_by_the_thousand(tmp_path: Path, soak_seed: int) -> None:
    for seed in range(soak_seed, soak_seed + 10_000):
        _check_damaged(tmp_path, seed, seed % 4 > 1)


def _check_damaged(tmp_path: Path, seed: int, is_packed: bool) -> None:
    data = ("4 3\n" * (seed % 2) + GLOVE).encode()
    path = tmp_path / "vectors"
    path.write_bytes(hostile.damaged(gzip.compress(data, mtime=0) if is_packed else data, seed))
    try:
        vectors = file_vectors(path, ["rain", "fell"])
    except AttnbankError as error:
        assert error.fact and error.remedy and "\n" not in error.fact
    else:
        assert vectors.vectors.shape == (2, vectors.vectors.shape[1])


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("9" * 5000 + " 3\n" + GLOVE, "a vector of"),
        ("4 " + "9" * 5000 + "\n" + GLOVE, "a vector of"),
        ("² ³\n" + GLOVE, "a vector of|could not"),
        ("4 999999999999\n" + GLOVE, "vectors of 999,999,999,999 values"),
        ("rain" + " 1" * 20_000 + "\n", "vectors of 20,000 values"),
        ("rain " + "9" * 20_000_000 + "\n", ":1: the line has more than"),
        (GLOVE + "x" * 20_000_000, ":5: the line has more than"),
        ("rain " + "x" * 1_000_000 + "\n", ":1: could not convert"),
        ("rain\0 1 2\n", "none|no word vectors|a vector"),
        ("\ufeff\ufeffrain 1 2\n", "none|no word vectors|a vector"),
    ],
    ids=["count", "dimension", "powers", "large dimension", "many values", "long value",
         "long word", "no number", "null", "two marks"],
)  # fmt: skip
def test_vectors_that_ask_for_too_much(tmp_path: Path, text: str, fact: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    if "none" in fact:
        assert not file_vectors(path, ["rain"]).known.any()
        return
    with pytest.raises(EmbeddingsError, match=fact) as raised:
        file_vectors(path, ["rain"])
    assert len(raised.value.fact) < 500


@pytest.mark.slow
def test_vectors_that_inflate_without_end(tmp_path: Path) -> None:
    path = tmp_path / "vectors.gz"
    path.write_bytes(gzip.compress((b"rain" + b" 1" * 1000 + b"\n") * 40_000, 9))
    with pytest.raises(EmbeddingsError, match="decompresses to more than"):
        file_vectors(path, ["rain"])


@pytest.mark.parametrize("source", ["a\0b", "x" * 5000, "../" * 2000, "\udcff", "", "/dev/null"])
def test_a_source_that_is_no_name(source: str) -> None:
    from attnbank.ingest.derived.probes.sentences import ProbeRun
    from attnbank.ingest.derived.probes.tasks import word_vectors

    run = ProbeRun(1, "run", "corpus", "model", None, "", None, 1, (1,))
    with pytest.raises(AttnbankError):
        word_vectors(["rain"], run, ProbeOptions(embeddings=source))


@pytest.fixture(scope="module")
def received(bank_of: BankFactory) -> Path:
    """A bank with two runs of a tiny BERT, not to be written to."""
    return bank_of("press", after=bank_of("stories", limit=4), limit=4)


@pytest.fixture
def model(tmp_path: Path, tiny_model: Models) -> Path:
    return Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))


@pytest.fixture
def bank(tmp_path: Path, received: Path, model: Path) -> Path:
    """A copy of the bank, as somebody sends it: made with the model in a folder."""
    path = Path(shutil.copy(received, tmp_path / "bank.duckdb"))
    _rename(path, str(model))
    return path


def _probe(bank: Path, **options: Any) -> Any:
    few = ProbeOptions(epochs=1, resamples=5, **options)
    return train_probe(bank, "distance_words", 1, 2, few)


def _rename(bank: Path, name: str) -> None:
    with duckdb.connect(str(bank)) as connection:
        connection.execute("update model set name = ?", [name])


@pytest.mark.slow
@pytest.mark.parametrize("relative", [True, False])
def test_a_folder_that_a_bank_names_is_not_opened(
    bank: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: bool
) -> None:
    """Also where its name might be one of the hub."""
    monkeypatch.chdir(tmp_path)
    if relative:
        _rename(bank, "model")
    marker = tmp_path / "marker"
    (model / "config.json").write_text('{"model_type": "evil", "auto_map": {"AutoConfig": "e.E"}}')
    (model / "e.py").write_text(f"open({str(marker)!r}, 'w')")
    before = bank.read_bytes()
    with pytest.raises(CallError, match="A folder that a bank names is not opened") as raised:
        _probe(bank)
    assert "--model FOLDER" in raised.value.remedy
    with pytest.raises(CallError, match="comes with Python code"):
        _probe(bank, model=str(model))
    assert not marker.exists() and bank.read_bytes() == before


@pytest.mark.slow
def test_what_is_no_hub_name_is_not_followed(bank: Path) -> None:
    for name in (
        "../model", "/etc", "~/model", "a/b/c", "a\\b", "C:\\model", "file:///tmp/x", "-x", "",
        "a\nb", "a\x1b[31m", "..", ".", "a/../b", "https://huggingface.co/a/b",
    ):  # fmt: skip
        _rename(bank, name)
        with pytest.raises(CallError, match="A folder that a bank names is not opened"):
            _probe(bank)


@pytest.mark.slow
def test_a_folder_that_the_user_names_is_checked_by_its_weights(
    bank: Path, model: Path, tiny_model: Models, tmp_path: Path
) -> None:
    assert _probe(bank, model=str(model)).is_new
    moved = shutil.move(model, tmp_path / "moved")
    assert not _probe(bank, model=str(moved)).is_new, "where a model is makes no other probe"
    before = bank.read_bytes()
    with pytest.raises(CallError, match="is not the one that stories/"):
        _probe(bank, model=str(tiny_model("electra")))
    with pytest.raises(CallError, match="is not the one"):
        _probe(bank, model="minilm")
    assert bank.read_bytes() == before


@pytest.mark.slow
def test_the_control_takes_the_trained_weights_of_its_name(
    bank: Path, model: Path, tiny_model: Models, options_for: Options
) -> None:
    for name in ("stories", "press"):
        ingest(options_for(bank, name, model, limit=4, random_weights=3))
    few = ProbeOptions(epochs=1, resamples=5, model=str(model))
    assert train_probe(bank, "distance_words", 3, 4, few).is_new
    with pytest.raises(CallError, match="is not the one"):
        train_probe(bank, "distance_words", 3, 4, ProbeOptions(model=str(tiny_model("electra"))))


def test_a_damaged_folder_that_the_user_names(bank: Path, model: Path, refused: Refused) -> None:
    (model / "config.json").write_text('{"model_type": "bert", "vocab_size": 1000000000000}')
    command = ["-b", str(bank), "probe", "distance_words", "--train-run", "1", "--test-run", "2"]
    error = refused(*command, "--model", model, status=1)
    assert "vocab_size" in error


@pytest.mark.parametrize(
    "more",
    [
        ["--seed", "99999999999999999999"], ["--epochs", "99999999999999999999"],
        ["--resamples", "1000000000"], ["--patience", "99999999999999999999"],
        ["--batch-sentences", "99999999999999999999"], ["--memory", "99999999999999999999"],
        ["--learning-rate", "nan"], ["--learning-rate", "inf"], ["--held-out", "nan"],
        ["--device", "meta"], ["--device", "abacus"], ["--embeddings", "/dev/null"],
        ["--model", "/nowhere"],
    ],
    ids=lambda more: " ".join(more).encode("ascii", "backslashreplace").decode(),
)  # fmt: skip
def test_a_number_or_a_name_that_nothing_can_take(
    received: Path, more: list[str], refused: Refused
) -> None:
    command = ["-b", received, "probe", "distance_words", "--train-run", "1", "--test-run", "2"]
    before = received.read_bytes()
    refused(*command, *more)
    assert received.read_bytes() == before
