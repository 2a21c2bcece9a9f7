"""`add_run`: maps that the caller computed are written as those that `ingest` computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import torch
import transformers

from attnbank.cli.app import run as command
from attnbank.ingest import IngestOptions, add_run, add_text, ingest
from attnbank.ingest.given import GivenRun, GivenSentence
from attnbank.queries import open_bank
from attnbank.sql.errors import BankError, CallError

TABLES = ("position", "attention", "attention_map", "peak")


class Ours:
    """A model outside of attnbank, and its own tokenizer."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
        self.model.eval()

    def read(self, sentence: GivenSentence) -> tuple[list[str], list[int | None], list[Any]]:
        found = self.tokenizer(list(sentence.words), is_split_into_words=True, return_tensors="pt")
        with torch.inference_mode():
            maps = self.model(**found, output_attentions=True).attentions
        return found.tokens(), found.word_ids(), list(maps)


@pytest.fixture
def stories(sample: Path) -> str:
    return str(sample / "stories.conllu")


@pytest.fixture
def bank(tmp_path: Path, stories: str) -> Path:
    path = tmp_path / "given.duckdb"
    assert add_text(IngestOptions((stories,), path)) == "stories"
    return path


def _rows(bank: Path, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table with the sentences of their inputs, whose order is another."""
    with duckdb.connect(str(bank), read_only=True) as connection:
        return connection.execute(
            "select sequence.sentence, sequence.document, sequence.positions, sequence.tokens,"
            f" own.* exclude (sequence) from {table} as own"
            " inner join sequence on sequence.id = own.sequence order by all"
        ).fetchall()


def _uniform(run: GivenRun, *, causal: bool = False) -> Iterator[GivenSentence]:
    for sentence in run.sentences():
        size = len(sentence.words) + (not causal) * 2
        maps = np.tril(np.ones((2, 3, size, size))) if causal else np.ones((2, 3, size, size))
        maps /= maps.sum(-1, keepdims=True)
        words = [*range(len(sentence.words))]
        given = words if causal else [None, *words, None]
        tokens = list(sentence.words) if causal else ["[CLS]", *sentence.words, "[SEP]"]
        run.add(sentence, tokens, given, maps)
        yield sentence


def test_the_same_model_gives_the_same_bank(
    bank: Path, stories: str, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tiny_model("bert")
    ours, other = Ours(folder), tmp_path / "ingested.duckdb"
    ingest(IngestOptions((stories,), other, model=str(folder), batch_tokens=1))
    with add_run(bank, "stories", "mine", layers=3, heads=4, digest="weights of mine") as run:
        for sentence in run.sentences():
            run.add(sentence, *ours.read(sentence))
    assert run.name == "stories/mine"
    for table in TABLES:
        assert _rows(bank, table) == _rows(other, table), table
    with open_bank(bank) as mine, open_bank(other) as theirs:
        found = mine.query("best_head").drop("run")
        assert found.height and found.equals(theirs.query("best_head").drop("run"))
        assert mine.info().models.row(0, named=True)["architecture"] == "given"
        assert mine.info().runs.row(0, named=True)["device"] == "given"


def test_a_run_that_was_stopped_goes_on(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnbank.ingest.given._TOKENS_AT_ONCE", 60)
    given = 0
    with (
        pytest.raises(RuntimeError, match="hook"),
        add_run(bank, "stories", "mine", layers=2, heads=3) as run,
    ):
        for _ in _uniform(run):
            given += 1
            if given == 10:
                raise RuntimeError("a hook of the user's")
    with open_bank(bank) as opened:
        (before,) = opened.info().runs.rows(named=True)
        assert before["finished"] is None and 5 < before["sentences"] < 10
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        rest = len([*_uniform(run)])
    assert rest == 24 - before["sentences"]
    with open_bank(bank) as opened:
        (after,) = opened.info().runs.rows(named=True)
        assert after["sentences"] == 24 and after["finished"] is not None
    with (
        pytest.raises(CallError, match="is finished"),
        add_run(bank, "stories", "mine", layers=2, heads=3),
    ):
        pass
    with add_run(bank, "stories", "mine", layers=2, heads=3, over=True) as run:
        next(_uniform(run))
    with open_bank(bank) as opened:
        (again,) = opened.info().runs.rows(named=True)
        assert (again["sentences"], again["skipped"]) == (1, 23)


def test_a_causal_model_rests_on_its_first_word(bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3, causal=True) as run:
        for _ in _uniform(run, causal=True):
            pass
    with open_bank(bank) as opened:
        kinds = opened.sql("select distinct kind from position where position = 0")["kind"]
        assert kinds.to_list() == ["first"]
        assert opened.query("special_tokens")["cls"].null_count() == 6


def test_arrays_of_any_kind(bank: Path) -> None:
    class ByDlpack:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **asked: Any) -> Any:
            return self.array.__dlpack__(**asked)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        for number, sentence in enumerate(run.sentences()):
            size = len(sentence.words)
            even = np.full((2, 3, size, size), 1 / size, np.float32)
            ways = [even, torch.from_numpy(even), ByDlpack(even), list(torch.from_numpy(even)),
                    [each[None] for each in torch.from_numpy(even)], even[None]]  # fmt: skip
            run.add(sentence, sentence.words, range(size), ways[number % len(ways)])
    assert len({row[0] for row in _rows(bank, "position")}) == 24


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"maps": np.ones((2, 3, 4, 4))}, r"have the shape \(2, 3, 4, 4\); expected \(2, 3, "),
        ({"scale": 2.0}, "sum to 2 to 2"),
        ({"scale": float("nan")}, "not finite"),
        ({"scale": -1.0}, "sum to -1 to -1"),
        ({"maps": [["a"]]}, "are not an array of numbers"),
        ({"drop": True}, "tokens of sentence .* are not those of its"),
        ({"words": [0]}, "are not those of its"),
        ({"kinds": ["cls", "end"]}, "cannot be of the kinds"),
    ],
)
def test_what_does_not_fit_is_refused(bank: Path, change: dict[str, Any], fact: str) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        sentence = next(run.sentences())
        size = len(sentence.words) + 2
        even = np.full((2, 3, size, size), change.get("scale", 1.0) / size)
        words = [None, *range(size - 2), None]
        words = [None, *words[2:], None] if change.get("drop") else change.get("words", words)
        tokens = ["[CLS]", *sentence.words, "[SEP]"]
        with pytest.raises(CallError, match=fact):
            run.add(sentence, tokens, words, change.get("maps", even), change.get("kinds"))


def test_a_causal_model_does_not_look_ahead(bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=1, heads=1, causal=True) as run:
        sentence = next(run.sentences())
        size = len(sentence.words)
        with pytest.raises(CallError, match="looks at a later one"):
            run.add(sentence, sentence.words, range(size), np.full((1, 1, size, size), 1 / size))


def test_a_bank_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "none.duckdb"
    with (
        pytest.raises(BankError, match="There is no bank"),
        add_run(path, "stories", "mine", layers=1, heads=1),
    ):
        pass
    assert not path.exists()


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        (["--dry-run"], "--model none writes the text alone: there is no run to count"),
        (
            ["--measure", "norms"],
            "--model none writes the text alone, and --measure is about a run",
        ),
        (["--unit", "token"], "--model none writes the text alone, and --unit is about a run"),
        (["--engine", "spark", "--to", "x"], "--model none writes the text alone: there is no run"),
    ],
)
def test_options_of_a_run_without_a_model(
    more: list[str], fact: str, stories: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.duckdb"
    assert command(["-b", str(path), "ingest", stories, "--model", "none", *more]) == 2
    assert fact in capsys.readouterr().err
    assert not path.exists()


def test_the_text_alone(stories: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "text.duckdb"
    assert command(["-b", str(path), "ingest", stories, "--model", "none"]) == 0
    assert "The bank has the text of stories; no model was run." in capsys.readouterr().err
    with open_bank(path) as opened:
        assert not opened.info().runs.height
        assert opened.sql("select count(*) as n from word")["n"][0] == 338
    with (
        pytest.raises(CallError, match="The bank has no corpus storys") as told,
        add_run(path, "storys", "mine", layers=1, heads=1),
    ):
        pass
    assert "stories" in str(told.value.remedy)
