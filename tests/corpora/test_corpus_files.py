"""Which files a user means, what format they have, and one stream of sentences from them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli

from attnbank.ingest.corpora.corpus_files import digest_corpus, find_sources, read_corpus
from attnbank.ingest.corpora.document import CorpusError, DocumentStart, Problem, Sentence
from attnbank.ingest.corpora.format import CorpusFile, recognise
from attnbank.sql.errors import CallError

RAIN = "1\tRain\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tfell\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
RELATIONS = "Rain 2-nsubj\nfell 0-root\n"
CONLL = "#begin document (x); part 000\nx 0 0 a NN - - - - - * -\n\n#end document\n"


def put(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def starts(sources: list[CorpusFile], **options: Any) -> list[DocumentStart]:
    items = list(read_corpus(sources, **options))
    assert [str(item) for item in items if isinstance(item, Problem)] == []
    return [item.document for item in items if isinstance(item, Sentence) and item.document]


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (RAIN, "conllu"),
        ("# sent_id = a\nbad\n", "conllu"),
        ("# global.columns = ID FORM\n", "conllu"),
        ("\ufeff" + RAIN, "conllu"),
        ("1-2\tdon't" + "\t_" * 8 + "\n", "conllu"),
        (RELATIONS, "relations"),
        ("Rain\t2-nsubj\n" * 5 + "bad\n", "relations"),
        (CONLL, "conll2012"),
        ("\n" + CONLL, "conll2012"),
        ("Rain fell.\n", "text"),
        ("# A heading\n\nRain fell.\n", "text"),
        ("Rain\n", "text"),
        ("", "text"),
        ("\x00\x01\x02" * 100, None),
    ],
)
def test_formats_are_told_by_content(text: str, format: str | None) -> None:
    assert recognise(text.encode()) == format


def test_binary_formats_are_told_by_content() -> None:
    assert recognise("Rain fell.\n".encode("utf-16") * 100) is None
    assert recognise(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10) is None
    spacy_tokens = pytest.importorskip("spacy.tokens")
    assert recognise(spacy_tokens.DocBin().to_bytes()) == "docbin"


def test_a_file(tmp_path: Path) -> None:
    name = put(tmp_path / "en_x-ud-dev.conllu", RAIN)
    (source,) = find_sources([name])
    assert (source.name, source.format, source.path) == (name, "conllu", Path(name))
    assert (source.stem, source.split) == ("en_x-ud-dev", "dev")
    assert b"".join(source.lines()) == source.data() == RAIN.encode()
    assert digest_corpus([source]) == source.sha256 == hashlib.sha256(RAIN.encode()).hexdigest()
    assert starts([source]) == [DocumentStart("en_x-ud-dev", {}, name, "dev", is_marked=False)]


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("gum-train.conllu", "train"),
        ("dev.txt", "dev"),
        ("X_TEST.conllu.gz", "test"),
        ("testament.conllu", None),
        ("contest.conllu", None),
        ("tale.conllu", None),
    ],
)
def test_the_split_is_a_word_of_the_file_name(tmp_path: Path, name: str, split: str) -> None:
    (source,) = find_sources([put(tmp_path / "train" / name, RAIN)])
    assert source.split == split
    assert starts([source], split="test")[0].split == "test"


def test_gzip(tmp_path: Path) -> None:
    name = put(tmp_path / "a.conllu.gz", RAIN)
    (source,) = find_sources([name])
    assert (source.format, source.stem, source.data()) == ("conllu", "a", RAIN.encode())
    assert source.sha256 == hashlib.sha256(Path(name).read_bytes()).hexdigest()


def test_gzip_that_breaks_late(tmp_path: Path) -> None:
    noise = "".join(
        RAIN.replace("Rain", hashlib.sha256(b"%d" % i).hexdigest()) for i in range(3000)
    )
    name = put(tmp_path / "a.conllu.gz", noise)
    Path(name).write_bytes(Path(name).read_bytes()[:-9])
    *_, problem = read_corpus(find_sources([name]))
    assert isinstance(problem, Problem)
    assert (problem.id, problem.file) == ("bad-gzip", name)


def test_standard_input_can_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RAIN.encode())))
    (source,) = find_sources(["-"])
    assert (source.name, source.format, source.split) == ("-", "conllu", None)
    assert source.data() == source.data() == RAIN.encode()
    assert starts([source])[0].name == "stdin"
    with pytest.raises(CallError, match="twice"):
        find_sources(["-", "-"])


def test_the_copy_of_standard_input_goes_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RAIN.encode())))
    (source,) = find_sources(["-"])
    path = source.path
    assert path.exists()
    del source
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_can_be_read_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(RAIN.encode(),))
    writer.start()
    (source,) = find_sources([str(pipe)])
    writer.join()
    assert (source.name, source.data(), source.data()) == (str(pipe), RAIN.encode(), RAIN.encode())


def test_folders(tmp_path: Path) -> None:
    put(tmp_path / "b.conllu", RAIN)
    put(tmp_path / "a" / "z.conllu.gz", RAIN)
    put(tmp_path / "a" / "y.conllu", RAIN)
    put(tmp_path / "LICENSE.txt", "You may do what you like with it.\n")
    put(tmp_path / "README.md", "Rain fell.\n")
    put(tmp_path / ".git" / "c.conllu", RAIN)
    sources = find_sources([str(tmp_path)])
    names = [Path(source.name).relative_to(tmp_path).as_posix() for source in sources]
    assert names == ["a/y.conllu", "a/z.conllu.gz", "b.conllu"]
    assert {source.format for source in sources} == {"conllu"}


def test_formats_of_a_folder_are_never_mixed_unasked(tmp_path: Path) -> None:
    """Layers of one text, in a clone of a corpus, would be read one after the other."""
    put(tmp_path / "b.conllu", RAIN)
    put(tmp_path / "a" / "y.gold_conll", CONLL)
    put(tmp_path / "a" / "x.conll", "Rain fell.\nIt stopped.\n")
    with pytest.raises(CallError) as error:
        find_sources([str(tmp_path)])
    assert (
        "several formats: CoNLL-2012 (1, a/y.gold_conll), CoNLL-U (1, b.conllu), plain text (1,"
        " a/x.conll)."
    ) in str(error.value)
    assert "conllu: .conllu" in error.value.remedy
    for format, names in (("conllu", {"b.conllu"}), ("conll2012", {"x.conll", "y.gold_conll"})):
        chosen = find_sources([str(tmp_path)], format)
        assert {(each.path.name, each.format) for each in chosen} == {(n, format) for n in names}
    named = find_sources([str(tmp_path / "b.conllu"), str(tmp_path / "a" / "y.gold_conll")])
    assert [source.format for source in named] == ["conllu", "conll2012"]


UNREAD = {
    "XML": ["<?xml version='1.0'?>\n<s><w>Rain</w></s>\n", "<s>\nRain\tNN\n</s>\n"],
    "JSON": ['{"text": "Rain fell."}\n{"text": "It stopped."}\n', '[{"text": "Rain fell."}]\n'],
    "annotation of brat": ["T1\tPerson 0 3\tAnn\nR1\tIn Arg1:T1 Arg2:T2\t\n"],
    "a table of words": ["EU NNP B-ORG\nrejects VBZ O\n\ncall NN O\n"],
    "bracketed trees": [
        "( (S (NP (PRP It)) (VP (VBD rained))) )\n",
        "(S\n  (NP (PRP It))\n  (VP (VBD rained)))\n",
    ],
    "a table:": [
        'id\ttext\n1\tRain "fell.\n2\tIt stopped.\n',
        'id,text,label\n1,"Rain fell, hard.",0\n2,It stopped.,1\n',
        "id;text\n1;Rain fell.\n2;It stopped.\n",
    ],
}
"""Beginnings of files that are not text, by the format that the message names."""


@pytest.mark.parametrize(
    ("what", "text"), [(what, text) for what, texts in UNREAD.items() for text in texts]
)
def test_what_no_format_reads_is_not_read_as_lines(tmp_path: Path, what: str, text: str) -> None:
    name = put(tmp_path / "a.txt", text)
    assert recognise(text.encode()) == "text"
    with pytest.raises(CorpusError) as error:
        find_sources([name])
    (problem,) = error.value.problems
    assert problem.id == "unknown-format" and problem.fact.startswith(what)
    (source,) = find_sources([name], "lines")  # who says so is believed
    assert source.format == "lines"
    bad: list[Problem] = []
    other = put(tmp_path / "b.txt", "Rain fell.\n")
    assert [source.name for source in find_sources([name, other], bad=bad)] == [other]
    assert [each.file for each in bad] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "Rain fell.\nIt stopped.\nDogs barked.\n",
        "Well, it rained.\nYes, it did.\nNo, not here.\n",
        "(Applause)\n(Laughter)\nHello there.\n",
        'He said "no".\n"Yes", she said.\nIt costs 1,000.\n',
        "[Music]\nHello.\nIs x < y?\n",
    ],
)
def test_text_is_still_text(tmp_path: Path, text: str) -> None:
    (source,) = find_sources([put(tmp_path / "a.txt", text)])
    assert source.format == "lines"


def test_a_folder_of_text(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "Rain fell.\n")
    assert [source.format for source in find_sources([str(tmp_path)])] == ["lines"]


def test_text_that_becomes_lines_unasked_is_told(tmp_path: Path, cli: Cli) -> None:
    name, bank = put(tmp_path / "a.txt", "Rain fell.\nIt stopped.\n"), tmp_path / "bank.duckdb"
    told = "read as one sentence per line, without annotation"
    words = ["-b", str(bank), "ingest", name, "--model", "none"]
    assert told in cli(*words).err
    assert told not in cli(*words, "--format", "lines").err


def test_files_are_taken_once(tmp_path: Path) -> None:
    a, b = put(tmp_path / "a.conllu", RAIN), put(tmp_path / "b.conllu", RAIN)
    sources = find_sources([b, str(tmp_path), a])
    assert [source.name for source in sources] == [b, a]


def test_the_digest_of_several_files(tmp_path: Path) -> None:
    a, b = put(tmp_path / "a.conllu", RAIN), put(tmp_path / "b.conllu", RAIN + RAIN)
    hashes = [hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in (a, b)]
    lines = f"{hashes[0]}  a.conllu\n{hashes[1]}  b.conllu\n"
    assert digest_corpus(find_sources([a, b])) == hashlib.sha256(lines.encode()).hexdigest()
    assert digest_corpus(find_sources([b, a])) != digest_corpus(find_sources([a, b]))


def test_documents_have_different_names(tmp_path: Path) -> None:
    names = [put(tmp_path / folder / "a.conllu", RAIN) for folder in "xyz"]
    found = [start.name for start in starts(find_sources(names))]
    assert found == ["a", f"a ({names[1]})", f"a ({names[2]})"]


def test_a_format_can_be_given(tmp_path: Path) -> None:
    name = put(tmp_path / "a", "Rain 2-nsubj\n\n\nbad\nbad\nbad\n")
    assert recognise(Path(name).read_bytes()) == "text"
    (source,) = find_sources([name], format="relations")
    items = list(read_corpus([source]))
    ids = [item.id for item in items if isinstance(item, Problem)]
    assert ids == ["head-out-of-range", "bad-relation"]
    with pytest.raises(CallError, match="Unknown format"):
        find_sources([name], format="tiger")


def test_what_cannot_be_found(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for paths, fact in (
        ([str(tmp_path / "nothing.conllu")], "does not exist"),
        ([str(tmp_path / "empty")], "no corpus file"),
        ([], "No corpus"),
    ):
        with pytest.raises(CallError, match=fact):
            find_sources(paths)
    put(tmp_path / "image", "\x00\x01\x02" * 500)
    with pytest.raises(CorpusError, match="cannot recognise"):
        find_sources([str(tmp_path / "image")])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_an_unreadable_file(tmp_path: Path) -> None:
    name = put(tmp_path / "a.conllu", RAIN)
    Path(name).chmod(0)
    with pytest.raises(CallError, match="Cannot read"):
        find_sources([name])


def test_all_faulty_files_are_named(tmp_path: Path) -> None:
    a, b = put(tmp_path / "a.conllu", ""), put(tmp_path / "b.conllu.gz", RAIN)
    Path(b).write_bytes(Path(b).read_bytes()[:-9])
    with pytest.raises(CorpusError) as error:
        find_sources([a, b])
    assert [(p.id, p.file) for p in error.value.problems] == [("empty-file", a), ("bad-gzip", b)]


def test_a_pipeline_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="plain text"):
        find_sources([put(tmp_path / "a.conllu", RAIN)], spacy="x")
