"""A tokenizer whose offsets are wrong: pieces are compared, and no offset is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny_models
from bank_rows import query_bank
from command_line import Cli

SENTENCES = ("She saw the old dog , too .", "She said so today .")
LINES = ("--format", "lines")
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


def test_the_same_pieces_are_the_same_whatever_the_offsets_say(
    made: Made, tmp_path: Path, cli: Cli
) -> None:
    corpus, folder = made({sentence: sentence for sentence in SENTENCES})
    bank = tmp_path / "bank.duckdb"
    err = cli("-b", bank, "ingest", corpus, *LINES, "-m", folder, "--edges", "share").err
    assert "tokenized differently" not in err and "share a piece" not in err
    assert query_bank(bank, "select joined_words from run_part") == [(0,)]
    rows = query_bank(bank, "select text, array_to_string(pieces, '') from position")
    assert sorted(word for word, _ in rows) == sorted(" ".join(SENTENCES).split())
    assert all(pieces.removeprefix("Ġ") == word for word, pieces in rows)


def test_a_word_that_is_read_otherwise_is_counted_alone(
    made: Made, tmp_path: Path, cli: Cli
) -> None:
    """And none of the other sentence, which is what it was."""
    corpus, folder = made(
        {SENTENCES[0]: SENTENCES[0].replace("old", "odd"), SENTENCES[1]: SENTENCES[1]}
    )
    bank = tmp_path / "b.duckdb"
    err = cli("-b", bank, "ingest", corpus, *LINES, "-m", folder).err
    assert "  1 of 13 words (7.7 %) are tokenized differently" in err
    assert query_bank(bank, "select joined_words from run_part") == [(1,)]


def test_what_no_offset_places_is_left_out_with_a_remedy_that_helps(
    made: Made, tmp_path: Path, cli: Cli
) -> None:
    corpus, folder = made({sentence: sentence.replace("S", "s") for sentence in SENTENCES})
    call = ("-b", tmp_path / "b.duckdb", "ingest", corpus, *LINES, "-m", folder)
    err = cli(*call, "--edges", "share", status=1).err
    assert "Leave out --edges share" in err and "another --model" not in err
    cli(*call)
