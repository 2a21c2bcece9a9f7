"""Plain text, annotated by a spaCy pipeline trained here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attnbank.ingest import plain
from attnbank.ingest.document import Problem, Sentence
from attnbank.ingest.plain import read_text
from attnbank.sql.errors import CallError

TEXT = "The dogs\nbarked . Rain fell .\n\n\nIt stopped .\n"


def items(text: str, spacy: Path | str | None) -> list[Sentence | Problem]:
    lines = text.encode().splitlines(keepends=True)
    return list(read_text(lines, "file.txt", "file", None if spacy is None else str(spacy)))


def test_sentences_paragraphs_and_trees(tiny_pipeline: Path) -> None:
    read = [item for item in items(TEXT, tiny_pipeline) if isinstance(item, Sentence)]
    assert [sentence.text for sentence in read] == [
        "The dogs barked .",
        "Rain fell .",
        "It stopped .",
    ]
    assert [sentence.paragraph for sentence in read] == [1, 1, 2]
    assert [sentence.line for sentence in read] == [1, 2, 5]
    assert [s.document.name if s.document else None for s in read] == ["file", None, None]
    assert [(w.form, w.xpos, w.head_index, w.deprel) for w in read[0].words] == [
        ("The", "DET", 2, "det"),
        ("dogs", "NOUN", 3, "nsubj"),
        ("barked", "VERB", 0, "ROOT"),
        (".", "PUNCT", 3, "punct"),
    ]


def test_a_paragraph_that_is_no_text_is_a_problem(tiny_pipeline: Path) -> None:
    read = items("Rain fell .\n\nIt\x07 stopped .\n\nIt stopped .\n", tiny_pipeline)
    assert [isinstance(item, Problem) for item in read].count(True) == 1
    assert [item.line for item in read if isinstance(item, Problem)] == [3]
    assert [item.paragraph for item in read if isinstance(item, Sentence)] == [1, 3]


def test_a_long_paragraph_is_annotated_in_pieces(
    tiny_pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "_LONGEST", 30)
    read = items("Rain fell .\nThe dogs barked .\n" * 3 + "It stopped . " * 5, tiny_pipeline)
    found = [item for item in read if isinstance(item, Sentence)]
    assert {sentence.paragraph for sentence in found} == {1}
    assert [sentence.line for sentence in found[:6]] == [1, 2, 3, 4, 5, 6]
    assert [word.form for s in found for word in s.words].count("fell") == 3
    assert [word.form for s in found for word in s.words].count("stopped") == 5


def test_the_version_of_a_pipeline(tiny_pipeline: Path) -> None:
    own = r"en_pipeline 0\.0\.0 \(spaCy [0-9.]+\)"
    assert re.fullmatch(own, plain.pipeline_version(str(tiny_pipeline)))


def test_without_a_pipeline() -> None:
    with pytest.raises(CallError) as caught:
        items(TEXT, None)
    assert "--spacy" in caught.value.remedy


def test_no_such_pipeline() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(CallError) as caught:
        items(TEXT, "no_such_pipeline")
    assert "no_such_pipeline" in caught.value.fact
    assert "spacy download" in caught.value.remedy


def test_a_pipeline_without_sentences_or_trees(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.to_disk(tmp_path / "none")
    with pytest.raises(CallError, match="finds no sentences"):
        items(TEXT, tmp_path / "none")
    pipeline.add_pipe("sentencizer")
    pipeline.to_disk(tmp_path / "sentences")
    with pytest.raises(CallError, match="gives no trees"):
        items(TEXT, tmp_path / "sentences")


def test_a_damaged_pipeline(tiny_pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "config.cfg").write_text("[nlp]\nlang = 1\n")
    (tmp_path / "meta.json").write_bytes((tiny_pipeline / "meta.json").read_bytes())
    with pytest.raises(CallError, match="cannot be loaded"):
        items(TEXT, tmp_path)
