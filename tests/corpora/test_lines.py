"""Unlabelled text: a sentence a line, an empty line between documents."""

from __future__ import annotations

import textwrap
import unicodedata
from functools import partial
from pathlib import Path

import corpus_text
import pytest
from bank_rows import query_bank
from fixture_types import Models
from hypothesis import given
from hypothesis import strategies as st

from attnbank.ingest import IngestOptions, add_text, ingest
from attnbank.ingest.corpora.corpus_files import find_sources, prose_fact, read_corpus
from attnbank.ingest.corpora.document import CorpusError, Problem, Sentence
from attnbank.ingest.corpora.formats.lines import read_lines, split_words
from attnbank.ingest.corpora.limits import MOST_WORDS
from attnbank.sql.errors import CallError

items = partial(corpus_text.read_items, read=read_lines)
sentences = partial(corpus_text.read_sentences, read=read_lines)


def forms(text: str) -> list[str]:
    return [word.form for word in split_words(text)]


def test_sentences_and_documents() -> None:
    read = sentences("Rain fell.\nIt stopped.\n\n\n \t\nThe dogs barked.\n")
    assert [sentence.text for sentence in read] == ["Rain fell.", "It stopped.", "The dogs barked."]
    assert [sentence.line for sentence in read] == [1, 2, 6]
    names = [sentence.document.name if sentence.document else None for sentence in read]
    assert names == ["document-1", None, "document-2"]
    assert [word.upos for sentence in read for word in sentence.words] == [None] * 10
    assert [word.head_index for sentence in read for word in sentence.words] == [None] * 10


def test_ends_of_lines_and_of_the_file() -> None:
    expected = ["Rain fell.", "It stopped."]
    for text in (
        b"Rain fell.\r\nIt stopped.",
        b"\xef\xbb\xbfRain fell.\n\n It stopped. \n",
        "Rain fell.\n\u00a0\nIt stopped.\u2003\n".encode(),
    ):
        assert [sentence.text for sentence in sentences(text)] == expected
    assert all(sentence.document for sentence in sentences("a\n\u00a0\nb\n"))
    assert items(b"") == []


@pytest.mark.parametrize(("beyond", "id"), [(0, None), (1, "too-many-words")])
def test_a_sentence_has_as_many_words_as_an_index_can_number(
    beyond: int, id: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "long.txt"
    path.write_text("x " * (MOST_WORDS + beyond))
    (item,) = read_corpus(find_sources([str(path)], "lines"))
    assert getattr(item, "id", None) == id


def test_words() -> None:
    assert forms("He's 3.5% [sic] x_y — “no”.") == [
        "He", "'", "s", "3", ".", "5", "%", "[", "sic", "]", "x", "_", "y",
        "—", "“", "no", "”", ".",
    ]  # fmt: skip
    assert forms("bɛʁnʊli cafe\u0301 हिन्दी co\u00adop ❤\ufe0f") == [
        "bɛʁnʊli", "cafe\u0301", "हिन्दी", "co\u00adop", "❤\ufe0f",
    ]  # fmt: skip
    assert [(word.form, word.space_after) for word in split_words("a, b\u2009c d")] == [
        ("a", False), (",", True), ("b", True), ("c", True), ("d", True),
    ]  # fmt: skip
    assert forms("\u200b \u0301") == []  # nothing that can be seen by itself


@pytest.mark.slow
@given(st.text())
def test_words_hold_every_character_that_can_stand_alone(text: str) -> None:
    rest = "".join(forms(text))

    def seen(text: str) -> str:
        hidden = ("M", "Cf")  # marks, and characters that only format
        kinds = ((char, unicodedata.category(char)) for char in text if not char.isspace())
        return "".join(char for char, kind in kinds if not kind.startswith(hidden))

    assert seen(rest) == seen(text)
    assert all(form and not any(c.isspace() for c in form) for form in forms(text))


def test_a_faulty_line_does_not_hide_the_others() -> None:
    read = items(b"Rain fell.\nIt\x07 stopped.\nThe dogs \xff\n\nA door closed.\n")
    assert [isinstance(item, Problem) for item in read] == [False, True, True, False]
    problems = [item.id for item in read if isinstance(item, Problem)]
    assert problems == ["control-character", "not-utf8"]
    assert [item.line for item in read] == [1, 2, 3, 5]


def test_a_document_whose_first_line_is_faulty() -> None:
    for first in (b"\xff\n", b"a " * 32_768 + b"\n"):
        _, *read = items(first + b"Rain fell.\n\nIt stopped.\n")
        names = [
            item.document.name for item in read if isinstance(item, Sentence) and item.document
        ]
        assert names == ["document-1", "document-2"]


def test_text_is_read_as_lines_unless_something_annotates_it(
    tmp_path: Path, tiny_pipeline: Path
) -> None:
    path = tmp_path / "story.txt"
    path.write_text("Rain fell . It\nstopped .\n")

    def texts(format: str | None, spacy: str | None) -> list[str | None]:
        read_items = read_corpus(find_sources([str(path)], format, spacy), spacy)
        return [item.text for item in read_items if isinstance(item, Sentence)]

    assert texts("lines", None) == ["Rain fell . It", "stopped ."]
    with pytest.raises(CallError, match="unannotated prose"):
        texts(None, None)
    assert texts(None, str(tiny_pipeline)) == ["Rain fell .", "It stopped ."]
    with pytest.raises(CallError, match="plain text") as error:
        texts("text", None)
    assert "--spacy" in str(error.value.remedy) and "--format lines" in str(error.value.remedy)
    with pytest.raises(CallError, match="--spacy annotates plain text"):
        texts("lines", str(tiny_pipeline))
    path.write_text("Rain fell .\nIt stopped .\n")
    assert texts(None, None) == ["Rain fell .", "It stopped ."]


@pytest.fixture
def model(tiny_model: Models) -> str:
    return str(tiny_model("bert"))


def test_a_bank_of_lines(tmp_path: Path, model: str) -> None:
    path, bank = tmp_path / "story.txt", tmp_path / "b.duckdb"
    path.write_text("Rain fell.\nIt stopped.\n\n\u200b\nThe dogs barked.\n")
    report = ingest(IngestOptions((str(path),), bank, model))
    assert (report.inputs, report.skipped) == (3, {"empty": 1})
    corpus = "select name, format, annotation, annotator from corpus"
    assert query_bank(bank, corpus) == [("story", "lines", "none", None)]
    documents = "select name, index from document order by id"
    assert query_bank(bank, documents) == [("story-1", 1), ("story-2", 2)]
    counts = "select count(*), count(upos), count(head_index), count(lemma) from word"
    assert query_bank(bank, counts) == [(10, 0, 0, 0)]


def test_a_corpus_of_which_a_part_is_annotated(tmp_path: Path) -> None:
    path, bank, gold = (tmp_path / name for name in ("story.txt", "b.duckdb", "gold.conllu"))
    path.write_text("Rain fell.\nIt stopped.\n")
    gold.write_text("1\tRain\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    add_text(IngestOptions((str(path), str(gold)), bank, name="both"))
    assert query_bank(bank, "select words from sentence order by id") == [(3,), (3,), (1,)]
    assert query_bank(bank, "select format, annotation from corpus") == [("conllu+lines", "gold")]


def test_nothing_to_read(tmp_path: Path, model: str) -> None:
    path = tmp_path / "story.txt"
    path.write_bytes(b"\xff\n")
    with pytest.raises((CorpusError, CallError)):
        ingest(IngestOptions((str(path),), tmp_path / "b.duckdb", model, format="lines"))
    assert not (tmp_path / "b.duckdb").exists()


@pytest.mark.parametrize("name", ["gum", "fr", "he", "tr", "zh", "ewt"])
def test_prose_is_told_from_sentences_on_lines(name: str, corpora: Path) -> None:
    text = (corpora / f"{name}-dev.conllu").read_text(encoding="utf-8")
    lines = [line[9:] for line in text.splitlines() if line.startswith("# text = ")]
    joint = "" if name == "zh" else " "
    paragraphs = [joint.join(lines[at : at + 5]) for at in range(0, len(lines), 5)]
    wrapped = [line for text in paragraphs for line in (*textwrap.wrap(text, 72), "")]
    assert prose_fact("\n".join(lines).encode()) is None
    for prose in (paragraphs, wrapped, paragraphs[:1], wrapped[:8]):
        assert prose_fact("\n".join(prose).encode()[: 1 << 16]) is not None, prose


def test_an_encyclopedia_is_sentences_on_lines(corpora: Path) -> None:
    with (corpora / "wiki-text.txt").open("rb") as file:
        while start := file.read(1 << 16):
            assert prose_fact(start) is None


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", None),
        ("Rain fell.", None),
        ("Rain fell. It stopped.", "1 of its first 1 lines have several"),
        ("1. Preheat the oven.\n2. Mix.\n", None),
        ("Dr. A. Lee met J. R. Ray, e.g. at 5.30 p.m.\nSt. Ives is no. 4.\n", None),
        (
            "The rain had fallen\nall night, and\nit stopped\nI slept.",
            "2 of its first 4 lines continue",
        ),
        ("O rose thou art sick\nThe invisible worm\nThat flies in the night\n", None),
        ("雨が降った。止んだ。\n", "1 of its first 1"),
        ("雨が降った。\n「止んだ。」\n", None),
    ],
)
def test_what_is_prose(text: str, fact: str | None) -> None:
    assert (prose_fact(text.encode()) or "").startswith(fact or "")
    assert (prose_fact(text.encode()) is None) == (fact is None)


def test_prose_needs_a_choice_of_format(tmp_path: Path, model: str) -> None:
    path, bank = tmp_path / "story.txt", tmp_path / "bank.duckdb"
    path.write_text("Rain fell all night. In the morning it stopped. The dogs barked.\n" * 3)

    fact = "is unannotated prose: 3 of its first 3 lines have several"
    with pytest.raises(CallError, match=fact) as error:
        ingest(IngestOptions((str(path),), bank, model))
    for remedy in ("--spacy en_core_web_sm", "--format lines"):
        assert remedy in error.value.remedy
    add_text(IngestOptions((str(path),), bank, format="lines"))
    assert query_bank(bank, "select count(*) from sentence") == [(3,)]
