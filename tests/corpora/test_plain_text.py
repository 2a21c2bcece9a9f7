"""Plain text, annotated by a spaCy pipeline trained here."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest
from corpus_text import Items, read_items, read_sentences
from pipelines import other_pipeline

from attnbank.ingest import IngestOptions, add_text
from attnbank.ingest.corpora.corpus_files import find_sources
from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.ingest.corpora.formats import spacy_docs
from attnbank.ingest.corpora.formats.spacy_docs import read_text
from attnbank.sql.errors import CallError

TEXT = "The dogs\nbarked . Rain fell .\n\n\nIt stopped .\n"


def items(text: str, spacy: Path | str) -> Items:
    return read_items(text, read_text, "file", str(spacy))


def test_sentences_paragraphs_and_trees(tiny_pipeline: Path) -> None:
    read = read_sentences(TEXT, read_text, "file", str(tiny_pipeline))
    assert [(sentence.text, sentence.paragraph, sentence.line) for sentence in read] == [
        ("The dogs barked .", 1, 1), ("Rain fell .", 1, 2), ("It stopped .", 2, 5)
    ]  # fmt: skip
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
    monkeypatch.setattr(spacy_docs, "LONGEST_DOC", 30)
    read = items("Rain fell .\nThe dogs barked .\n" * 3 + "It stopped . " * 5, tiny_pipeline)
    found = [item for item in read if isinstance(item, Sentence)]
    assert {sentence.paragraph for sentence in found} == {1}
    assert [sentence.line for sentence in found[:6]] == [1, 2, 3, 4, 5, 6]
    assert [word.form for s in found for word in s.words].count("fell") == 3
    assert [word.form for s in found for word in s.words].count("stopped") == 5


def test_the_identity_of_a_pipeline(tiny_pipeline: Path, tmp_path: Path) -> None:
    name, digest = spacy_docs.pipeline_identity(str(tiny_pipeline))
    assert re.fullmatch(r"en_pipeline 0\.0\.0 \(spaCy [0-9.]+\)", name)
    files = sorted(path for path in tiny_pipeline.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(tiny_pipeline)}\n"
        for path in files
    ]
    assert digest == hashlib.sha256("".join(lines).encode()).hexdigest()
    shutil.copytree(tiny_pipeline, tmp_path / "moved")
    assert spacy_docs.pipeline_identity(str(tmp_path / "moved")) == (name, digest)


@pytest.mark.slow
def test_a_pipeline_that_changes_in_place_is_read_anew(tiny_pipeline: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pipeline"
    shutil.copytree(tiny_pipeline, folder)

    def lemmas() -> list[str | None]:
        read = read_sentences(TEXT, read_text, "file", str(folder))
        return [word.lemma for sentence in read for word in sentence.words]

    before, words = spacy_docs.pipeline_identity(str(folder)), lemmas()
    other_pipeline(folder, folder)
    after = spacy_docs.pipeline_identity(str(folder))
    assert after[0] == before[0] and after[1] != before[1]
    assert lemmas() != words


def test_a_pipeline_without_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package may make its pipeline in Python: then the pipeline itself is digested."""
    pytest.importorskip("spacy")
    code = (
        "import spacy\n"
        "def load(**overrides):\n"
        "    pipeline = spacy.blank('en')\n"
        "    pipeline.add_pipe('sentencizer', config={'punct_chars': ['.']})\n"
        "    return pipeline\n"
    )
    _install(tmp_path, "handmade", code, monkeypatch)
    first, second = (spacy_docs.pipeline_identity("handmade") for _ in range(2))
    assert first == second and len(first[1]) == 64


def test_without_a_pipeline(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text(TEXT, encoding="utf-8")
    with pytest.raises(CallError, match=r"file\.txt is plain text") as error:
        find_sources([str(path)], "text")
    assert "--spacy" in error.value.remedy


def test_no_such_pipeline() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(CallError) as error:
        items(TEXT, "no_such_pipeline")
    assert "no_such_pipeline" in error.value.fact
    assert "spacy download" in error.value.remedy


def test_a_pipeline_without_sentences_or_trees(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.to_disk(tmp_path / "none")
    with pytest.raises(CallError, match="does not find sentences"):
        items(TEXT, tmp_path / "none")
    pipeline.add_pipe("sentencizer")
    pipeline.to_disk(tmp_path / "sentences")
    with pytest.raises(CallError, match="does not parse"):
        items(TEXT, tmp_path / "sentences")


def test_a_damaged_pipeline(tiny_pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "config.cfg").write_text("[nlp]\nlang = 1\n")
    (tmp_path / "meta.json").write_bytes((tiny_pipeline / "meta.json").read_bytes())
    with pytest.raises(CallError, match="Cannot load"):
        items(TEXT, tmp_path)


COUNTING = """
import spacy


@spacy.Language.component("count")
def count(doc):
    with open({log!r}, "a", encoding="utf-8") as file:
        file.write(doc.text)
    return doc


def load(**overrides):
    pipeline = spacy.load({pipeline!r})
    pipeline.add_pipe("count", first=True)
    return pipeline
"""


def test_a_pipeline_sees_each_text_once(
    tiny_pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the bank is written to: it annotates what the bank does not have."""
    pytest.importorskip("spacy")
    log, path = tmp_path / "log", tmp_path / "file.txt"
    code = COUNTING.format(log=str(log), pipeline=str(tiny_pipeline))
    _install(tmp_path, "counting", code, monkeypatch)
    path.write_text(TEXT, encoding="utf-8")
    options = IngestOptions((str(path),), tmp_path / "bank.duckdb", "none", spacy="counting")
    for _ in range(2):
        add_text(options)
    assert "".join(log.read_text("utf-8").split()) == "".join(TEXT.split())


def _install(folder: Path, name: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a package of a pipeline, as pip would install it."""
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(folder))
