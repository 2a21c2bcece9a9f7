"""A byte-order mark at the start of a corpus file is no part of its text, in any format."""

from __future__ import annotations

import gzip
import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attnbank.ingest.corpora.corpus_files import find_sources, read_corpus
from attnbank.ingest.corpora.document import Problem, Sentence

BOM = b"\xef\xbb\xbf"
TEXTS = {
    "conllu": "# newdoc id = d\n# text = Rain fell\n"
    "1\tRain\train\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tfell\tfall\tVERB\t_\t_\t0\troot\t_\t_\n\n",
    "conllu without comments": "1\tRain\train\tNOUN\t_\t_\t2\tnsubj\t_\t_\n"
    "2\tfell\tfall\tVERB\t_\t_\t0\troot\t_\t_\n\n",
    "relations": "Rain 2-nsubj\nfell 0-root\n\nIt 2-nsubj\nstopped 0-root\n",
    "conll2012": "#begin document (d); part 000\nd\t0\t0\tRain\tNN\t(1)\nd\t0\t1\tfell\tVB\t-\n\n"
    "#end document\n",
    "text": "Rain fell.\n\nIt stopped.\n",
    "lines": "Rain fell.\n\nIt stopped.\n",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("before", [b"", b"\n", b"\r\n\r\n"], ids=["alone", "line", "lines"])
def test_a_mark_is_no_part_of_the_text(
    tmp_path: Path, name: str, before: bytes, request: pytest.FixtureRequest
) -> None:
    spacy = str(request.getfixturevalue("tiny_pipeline")) if name == "text" else None
    content = TEXTS[name].encode()
    plain, marked, packed = (
        _sentences(tmp_path, data, name, spacy)
        for data in (content, BOM + before + content, gzip.compress(BOM + before + content))
    )
    assert plain and "\ufeff" not in "".join(word.form for s in marked for word in s.words)
    assert marked == plain == packed


@pytest.mark.parametrize("name", TEXTS)
def test_a_mark_in_a_word_is_left_out_and_told(
    tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    spacy = str(request.getfixturevalue("tiny_pipeline")) if name == "text" else None
    text = TEXTS[name]
    plain, marked = (
        _sentences(tmp_path, data.encode(), name, spacy)
        for data in (text, text.replace("fell", "f\ufeffell"))
    )
    departures = [departure.id for sentence in marked for departure in sentence.departures]
    assert departures == ["mark-in-word"]
    assert [replace(sentence, departures=()) for sentence in marked] == plain


def test_every_file_of_a_corpus_may_have_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.conllu").write_bytes(BOM + TEXTS["conllu"].encode())
    items = read_corpus(find_sources([str(tmp_path)]))
    starts = [item.document for item in items if isinstance(item, Sentence) and item.document]
    assert [start.name for start in starts] == ["d", f"d ({tmp_path / 'b.conllu'})"]


def test_standard_input_may_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = io.BytesIO(BOM + TEXTS["relations"].encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(marked))
    sources = find_sources(["-"])
    assert sources[0].format == "relations"
    first = next(iter(read_corpus(sources)))
    assert isinstance(first, Sentence) and first.words[0].form == "Rain"


def _sentences(folder: Path, data: bytes, name: str, spacy: str | None) -> list[Sentence]:
    """The sentences of a file, without the lines where they stand."""
    (folder / "corpus").write_bytes(data)
    format = "lines" if name == "lines" else None
    sources = find_sources([str(folder / "corpus")], format, spacy)
    assert sources[0].format == name.split()[0]
    items = list(read_corpus(sources, spacy=spacy))
    assert not [str(item) for item in items if isinstance(item, Problem)]
    return [replace(item, line=0) for item in items if isinstance(item, Sentence)]
