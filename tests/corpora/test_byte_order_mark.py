"""A byte-order mark at the start of a corpus file is no part of its text, in any format."""

from __future__ import annotations

import gzip
import io
from dataclasses import replace
from pathlib import Path

import pytest

from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.ingest.corpora.sources import find_sources, read_corpus

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


def _items(path: Path | str, name: str, spacy: str | None) -> list[Sentence | Problem]:
    format = "lines" if name == "lines" else None
    sources = find_sources([str(path)], format, spacy)
    assert sources[0].format == name.split()[0]
    return list(read_corpus(sources, spacy=spacy))


def _without_place(items: list[Sentence | Problem]) -> list[Sentence]:
    found = []
    for each in items:
        assert isinstance(each, Sentence), each
        document = each.document and replace(each.document, file="")
        found.append(replace(each, document=document, line=0))
    return found


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("before", [b"", b"\n", b"\r\n\r\n"], ids=["alone", "line", "lines"])
def test_a_mark_is_no_part_of_the_text(
    tmp_path: Path, name: str, before: bytes, request: pytest.FixtureRequest
) -> None:
    spacy = str(request.getfixturevalue("tiny_pipeline")) if name == "text" else None
    content = TEXTS[name].encode()
    found = []
    for folder, data in (
        ("plain", content),
        ("marked", BOM + before + content),
        ("packed", gzip.compress(BOM + before + content, mtime=0)),
    ):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "corpus"
        path.write_bytes(data)
        found.append(_without_place(_items(path, name, spacy)))
    assert found[0] and "\ufeff" not in "".join(w.form for s in found[1] for w in s.words)
    assert found[1] == found[0] == found[2]


@pytest.mark.parametrize("name", TEXTS)
def test_a_mark_in_a_word_is_left_out_and_told(
    tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    spacy = str(request.getfixturevalue("tiny_pipeline")) if name == "text" else None
    marked_text = TEXTS[name].replace("fell", "f\ufeffell")
    for folder, text in (("plain", TEXTS[name]), ("marked", marked_text)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "corpus").write_text(text, encoding="utf-8")
    plain = _without_place(_items(tmp_path / "plain" / "corpus", name, spacy))
    marked = _without_place(_items(tmp_path / "marked" / "corpus", name, spacy))
    assert [each.id for sentence in marked for each in sentence.departures] == ["mark-in-word"]
    assert [replace(each, departures=()) for each in marked] == plain


def test_every_file_of_a_corpus_may_have_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.conllu").write_bytes(BOM + TEXTS["conllu"].encode())
    sentences = _without_place(list(read_corpus(find_sources([str(tmp_path)]))))
    assert [each.document.name for each in sentences if each.document] == [
        "d", f"d ({tmp_path / 'b.conllu'})"
    ]  # fmt: skip


def test_standard_input_may_have_one() -> None:
    marked = io.BytesIO(BOM + TEXTS["relations"].encode())
    sources = find_sources(["-"], stdin=marked)
    assert sources[0].format == "relations"
    first = next(iter(read_corpus(sources)))
    assert isinstance(first, Sentence) and first.words[0].form == "Rain"
