"""A tokenizer whose offsets are wrong: pieces are compared, and no offset is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
import tiny_models

from attnbank.cli.app import run_command_line

SENTENCES = ("She saw the old dog , too .", "She said so today .")
Made = Callable[[dict[str, str]], tuple[Path, Path]]


@pytest.fixture
def made(tmp_path: Path, sample_text: list[str]) -> Made:
    """A function from what a normalizer replaces to a text and a model that reads it.

    A replaced text has the offsets of its last character alone, even if it is what it was.
    """

    def make(replaced: dict[str, str]) -> tuple[Path, Path]:
        corpus, folder = tmp_path / "c.txt", tmp_path / "model"
        corpus.write_text("".join(f"{sentence}\n" for sentence in SENTENCES), encoding="utf-8")
        tiny_models.save("gpt2", folder, sample_text)
        file = folder / "tokenizer.json"
        tokenizer = json.loads(file.read_text("utf-8"))
        tokenizer["normalizer"] = {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"String": text}, "content": other}
                for text, other in replaced.items()
            ],
        }
        file.write_text(json.dumps(tokenizer), encoding="utf-8")
        return corpus, folder

    return make


def _ingest(bank: Path, corpus: Path, folder: Path, edges: str) -> int:
    given = ["--format", "lines", "--model", str(folder), "--edges", edges]
    return run_command_line(["-b", str(bank), "ingest", str(corpus), *given])


@pytest.mark.parametrize("edges", ["cut", "share"])
def test_the_same_pieces_are_the_same_whatever_the_offsets_say(
    edges: str, made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, folder = made({sentence: sentence for sentence in SENTENCES})
    bank = tmp_path / "bank.duckdb"
    assert _ingest(bank, corpus, folder, edges) == 0
    printed = capsys.readouterr().err
    assert "tokenized differently" not in printed and "share a piece" not in printed
    with duckdb.connect(str(bank), read_only=True) as connection:
        ((joined,),) = connection.execute("select joined_words from run_part").fetchall()
        rows = connection.execute(
            "select text, array_to_string(pieces, '') from position order by sequence, position"
        ).fetchall()
    assert joined == 0
    assert sorted(word for word, _ in rows) == sorted(" ".join(SENTENCES).split())
    assert all(pieces.removeprefix("Ġ") == word for word, pieces in rows)


def test_a_word_that_is_read_otherwise_is_counted_alone(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, folder = made({SENTENCES[0]: SENTENCES[0].replace("old", "odd")})
    assert _ingest(tmp_path / "cut.duckdb", corpus, folder, "cut") == 0
    assert "  1 of 13 words (7.7 %) are tokenized differently" in capsys.readouterr().err


def test_what_no_offset_places_is_left_out_with_a_remedy_that_helps(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, folder = made({sentence: sentence.replace("S", "s") for sentence in SENTENCES})
    assert _ingest(tmp_path / "b.duckdb", corpus, folder, "share") != 0
    printed = capsys.readouterr().err
    assert "Leave out --edges share" in printed and "another --model" not in printed
    assert _ingest(tmp_path / "c.duckdb", corpus, folder, "cut") == 0
