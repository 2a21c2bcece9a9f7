"""A corpus that somebody else made is read or refused: with a place, in little memory and time."""

from __future__ import annotations

import gzip
import random
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hostile
import made_faults
import pytest
from fixture_types import Models
from hostile import Refused

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.corpora import document, format, limits
from attnbank.ingest.corpora.corpus_files import find_sources, read_corpus
from attnbank.ingest.corpora.document import CorpusError, Problem, Sentence
from attnbank.ingest.corpora.formats.spacy_docs import count_items
from attnbank.ingest.corpora.limits import MOST_LINE
from attnbank.sql.errors import AttnbankError

FAULTS = Path(__file__).parents[1] / "faults"
BOM = b"\xef\xbb\xbf"
CONLL2012 = (
    b"#begin document (d); part 000\nd\t0\t0\tRain\tNN\t(1)\nd\t0\t1\tfell\tVB\t-\n\n"
    b"d\t0\t0\tIt\tPRP\t(1)\nd\t0\t1\tstopped\tVB\t-\n\n#end document\n"
)
RELATIONS = b"Rain 2-nsubj\nfell 0-root\n\nIt 2-nsubj\nstopped 0-root\n"
LINES = "Rain fell. Es regnete, 雨が降った。\n\nIt stopped.\n".encode()


def _conllu(sample: Path) -> bytes:
    text = (sample / "stories.conllu").read_bytes()
    return b"\n\n".join(text.split(b"\n\n")[:4]) + b"\n\n"


def _docbin() -> bytes:
    from spacy.tokens import Doc, DocBin
    from spacy.vocab import Vocab

    vocab = Vocab()
    docs = []
    for number in range(3):
        words = ["the", "dog", "saw", "its", "tail", "."]
        doc = Doc(vocab, words=words, heads=[1, 2, 2, 4, 2, 2], deps=["x"] * 6, tags=["NN"] * 6)
        doc.spans["coref_clusters_1"] = [doc[0:2], doc[3:4]]
        doc.user_data["name"] = f"document {number}"
        docs.append(doc)
    return bytes(DocBin(store_user_data=True, docs=docs).to_bytes())


def _read(path: Path, format: str | None = None) -> list[Sentence | Problem]:
    """Everything of a file, where only an error for people may come instead."""
    try:
        items = list(read_corpus(find_sources([str(path)], format)))
    except CorpusError as error:
        items = list(error.problems)
    except AttnbankError as error:
        assert error.fact and "\n" not in error.fact
        return []
    for item in items:
        if isinstance(item, Problem):
            assert len(item.fact) <= 300 and "\n" not in item.fact and item.remedy, item
    return items


KINDS = ("conllu", "conll2012", "relations", "lines", "docbin", "gz")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused(
    tmp_path: Path, sample: Path, kind: str, seed: int
) -> None:
    _check_damaged(tmp_path, sample, kind, seed)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_files_damaged_by_the_thousand(
    tmp_path: Path, sample: Path, kind: str, soak_seed: int
) -> None:
    for seed in range(soak_seed, soak_seed + 3000):
        _check_damaged(tmp_path, sample, kind, seed)


def _check_damaged(tmp_path: Path, sample: Path, kind: str, seed: int) -> None:
    known = {"conll2012": CONLL2012, "relations": RELATIONS, "lines": LINES}
    if kind == "docbin":
        pytest.importorskip("spacy")
        data = _docbin()
        if seed % 2:  # damage what is compressed in it
            data = zlib.compress(hostile.damaged(zlib.decompress(data), seed))
        else:
            data = hostile.damaged(data, seed)
    elif kind == "gz":
        data = hostile.damaged(gzip.compress(_conllu(sample), mtime=0), seed)
    else:
        data = hostile.damaged(known.get(kind) or _conllu(sample), seed)
    path = tmp_path / "corpus"
    path.write_bytes(data)
    _read(path)
    _read(path, "conllu" if kind == "gz" else kind)


@pytest.mark.parametrize("format", ["conllu", "conll2012", "relations", "docbin", "lines", "text"])
@pytest.mark.parametrize("seed", range(8))
def test_any_bytes_in_any_format(tmp_path: Path, format: str, seed: int) -> None:
    """Noise, and what is well formed in another format."""
    draw = random.Random(seed)
    other = [CONLL2012, RELATIONS, LINES, zlib.compress(b"\x81\xa5attrs"), gzip.compress(LINES)]
    data = other[seed] if seed < len(other) else draw.randbytes(5000)
    path = tmp_path / "corpus"
    path.write_bytes(data)
    _read(path, format)


_ID = "9" * 5000
MORE = "\t_" * 8 + "\n"
DIGITS = {
    "id": ("conllu", f"{_ID}\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"),
    "head": ("conllu", f"1\ta\t_\t_\t_\t_\t{_ID}\tdep\t_\t_\n"),
    "range": ("conllu", f"1-{_ID}\tab{MORE}1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"),
    "empty node": ("conllu", f"1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n1.{_ID}\tb{MORE}"),
    "part": ("conllu", f"1\ta\t_\t_\t_\t_\t0\troot\t_\tEntity=(e1[1/{_ID}]-x-1)\n"),
    "entity head": ("conllu", f"1\ta\t_\t_\t_\t_\t0\troot\t_\tEntity=(e1-x-{_ID})\n"),
    "relation": ("relations", f"a {_ID}-dep\n"),
    "document part": (
        "conll2012", f"#begin document (d); part {_ID}\nd 0 0 a NN -\n\n#end document\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", DIGITS)
def test_a_number_of_5000_digits_is_a_fault_with_its_line(tmp_path: Path, name: str) -> None:
    format, text = DIGITS[name]
    path = tmp_path / "corpus"
    path.write_text((hostile.RAIN if format == "conllu" else "") + text)
    (problem,) = (item for item in _read(path, format) if isinstance(item, Problem))
    assert len(problem.fact) <= 300
    assert problem.line >= (4 if format == "conllu" else 1)


SLOW_BY_DESIGN: dict[str, tuple[str, str]] = {
    "an entity without brackets": (
        "conllu", f"1\ta\t_\t_\t_\t_\t0\troot\t_\tEntity={'a' * 1_000_000}\n"),
    "entities opened without end": (
        "conllu", f"1\ta\t_\t_\t_\t_\t0\troot\t_\tEntity={'(e' * 300_000}\n"),
    "brackets": ("conllu", f"1\ta\t_\t_\t_\t_\t0\troot\t_\tEntity={'(' * 1_000_000}\n"),
    "parts": ("conllu", f"1\ta\t_\t_\t_\t_\t0\troot\t_\tEntity=(e{'[1' * 300_000}-x-1)\n"),
    "spaces in a mark": (
        "conll2012", f"#begin document (d){' ' * 100_000}x\nd 0 0 a NN -\n\n#end document\n"),
    "brackets in a mark": (
        "conll2012", f"#begin document ({') ' * 100_000}x\nd 0 0 a NN -\n\n#end document\n"),
    "coreference": ("conll2012", "#begin document (d); part 000\n"
                    f"d\t0\t0\ta\tNN\t{'(1|' * 300_000}1)\n\n#end document\n"),
    "features": ("conllu", f"1\ta\t_\t_\t_\t{'A=b|' * 300_000}\t0\troot\t_\t_\n"),
    "marks without a letter": (
        "conllu", f"# text = {chr(0x316) + chr(0x301)}"
        + (chr(0x301) + chr(0x316)) * 200_000 + "\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"),
    "hyphens": ("relations", f"a {'1-' * 500_000}\n"),
    "global.Entity": ("conllu", f"# global.Entity = {'-'.join(map(str, range(200_000)))}\n"
                      "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"),
    "a long chain": ("relations", "".join(f"a {at}-x\n" for at in range(32_000))),
    "a cycle": ("relations", "a 30000-x\n" + "".join(f"a {at}-x\n" for at in range(1, 30_000))),
    "clusters of all words": (
        "conllu", "".join(
            f"{at}\ta\t_\t_\t_\t_\t0\troot\t_\t{misc}\n" if at == 1
            else f"{at}\ta\t_\t_\t_\t_\t1\tx\t_\t_\n"
            for at in range(1, 20_001)
            for misc in ["|".join(f"ClusterId[{n}]=e|MentionSpan[{n}]=1-20000"
                                  for n in range(1, 1001)) if at == 1 else "_"])),
    "roots": ("relations", "a 0-root\n" * 30_000),
    "a chain with mentions on it": (
        "conllu", "".join(
            f"{at}\ta\t_\t_\t_\t_\t{at - 1 if at <= 16000 else 16000}\t{'x' if at > 1 else 'root'}"
            f"\t_\t{ {16001: 'Entity=' + '(e1-x' * 60, 32000: 'Entity=' + 'e1)' * 60}.get(at, '_')}"
            "\n" for at in range(1, 32_001))),
}  # fmt: skip


@pytest.mark.usual(4)
@pytest.mark.parametrize("name", SLOW_BY_DESIGN)
def test_what_would_take_for_ever_takes_seconds(tmp_path: Path, name: str) -> None:
    """Each of these grows with the square of its length, or worse, where it is read naively."""
    format, text = SLOW_BY_DESIGN[name]
    path = tmp_path / "corpus"
    path.write_text(text, encoding="utf-8")
    began = time.process_time()
    assert _read(path, format)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("where", ["start", "between", "in the sentence"])
@pytest.mark.parametrize("format", ["conllu", "relations", "conll2012", "lines"])
def test_a_second_byte_order_mark_is_read_or_said(tmp_path: Path, format: str, where: str) -> None:
    """Files with a mark each, joined to one."""
    whole = {"conllu": b"# sent_id = a\n" + hostile.RAIN.encode(), "relations": RELATIONS + b"\n",
             "conll2012": CONLL2012, "lines": b"Rain fell.\n\n"}[format]  # fmt: skip
    path = tmp_path / "corpus"
    other = whole.replace(b"(d)", b"(e)").replace(b"= a", b"= b")
    if where == "start":
        path.write_bytes(BOM + BOM + whole)
    elif where == "between":
        path.write_bytes(BOM + whole + BOM + other)
    else:
        path.write_bytes(BOM + whole.rstrip(b"\n") + b"\n" + BOM + other)
    items = _read(path, format)
    problems = [item.id for item in items if isinstance(item, Problem)]
    forms = "".join(w.form for item in items if isinstance(item, Sentence) for w in item.words)
    assert "\ufeff" not in forms
    if where == "in the sentence" and format in ("conllu", "relations"):
        assert problems == ["byte-order-mark"]
    elif where != "in the sentence":
        assert problems == []
        expected = 1 if where == "start" else 2
        assert sum(isinstance(item, Sentence) for item in items) == expected * (
            2 if format in ("relations", "conll2012") else 1
        )


@pytest.mark.usual(3)
@pytest.mark.parametrize("format", ["conllu", "relations", "conll2012", "lines", "text"])
def test_old_line_ends_are_said(tmp_path: Path, format: str, request: Any) -> None:
    spacy = str(request.getfixturevalue("tiny_pipeline")) if format == "text" else None
    whole = {"conllu": hostile.RAIN.encode(), "relations": RELATIONS, "conll2012": CONLL2012,
             "lines": LINES, "text": LINES}[format]  # fmt: skip
    path = tmp_path / "corpus"
    path.write_bytes(whole.replace(b"\n", b"\r"))
    items = list(read_corpus(find_sources([str(path)], format, spacy), spacy))
    ids = [item.id for item in items if isinstance(item, Problem)]
    assert ids[0] == "carriage-return"


@pytest.mark.slow
def test_files_that_cannot_be_read_are_left_out_with_skip_bad(
    tmp_path: Path, tiny_model: Models
) -> None:
    """They are listed, in the bank too, and the command types on as it began."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.conllu").write_text("")
    (folder / "b.conllu").write_text(hostile.RAIN)
    (folder / "c.txt").write_bytes(bytes(range(256)))
    (folder / "d.conllu.gz").write_bytes(gzip.compress(hostile.RAIN.encode())[:-9])
    options = IngestOptions((str(folder),), tmp_path / "b.duckdb", str(tiny_model("bert")))
    with pytest.raises(CorpusError) as raised:
        ingest(options)
    assert [problem.id for problem in raised.value.problems] == [
        "empty-file", "unknown-format", "bad-gzip"
    ]  # fmt: skip
    assert not (tmp_path / "b.duckdb").exists()
    skipping = IngestOptions(
        (str(folder),), tmp_path / "b.duckdb", str(tiny_model("bert")), skip_bad=True
    )
    report = ingest(skipping)
    assert report.sentences == 1
    assert set(report.skipped) == {"empty-file", "unknown-format", "bad-gzip"}
    assert ingest(skipping).state == "unchanged"
    (folder / "b.conllu").unlink()
    with pytest.raises(CorpusError):
        ingest(skipping)


def test_a_sentence_left_out_hands_on_the_document_that_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "corpus.conllu"
    long = hostile.RAIN.replace("Rain", "x" * 40_000)
    path.write_text(f"# newdoc id = one\n{long}{hostile.RAIN}{hostile.RAIN}")
    problem, first, second = _read(path)
    assert isinstance(problem, Problem) and problem.id == "word-too-long"
    assert isinstance(first, Sentence) and first.document is not None
    assert first.document.name == "one"
    assert isinstance(second, Sentence) and second.document is None


def test_a_relation_of_a_thousand_characters_is_the_longest(tmp_path: Path) -> None:
    path = tmp_path / "corpus.conllu"
    assert "\tnsubj\t" in hostile.RAIN or "\troot\t" in hostile.RAIN
    label = "root:" + "x" * 995
    path.write_text("".join(hostile.RAIN.replace("root", name) for name in (label, label + "x")))
    sentence, problem = _read(path)
    assert isinstance(sentence, Sentence)
    assert isinstance(problem, Problem) and problem.id == "word-too-long"
    assert "the label of word" in problem.fact and "has 1,001 characters: root:xxx" in problem.fact


@pytest.mark.parametrize("data", [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\x91" * 100,
                                  b"\xc6\xff\xff\xff\xff", b"\xc1", b"", b"\xdc"])  # fmt: skip
def test_msgpack_that_promises_too_much(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"more than|too early|not valid"):
        count_items(data)


def test_items_are_counted_as_msgpack_counts_them() -> None:
    srsly = pytest.importorskip("srsly")
    values: list[Any] = [1, -1, 300, 70_000, 2**40, -2**40, 0.5, None, True, "a" * 5, "a" * 50,
                         "a" * 300, "a" * 70_000, b"a", b"a" * 300, b"a" * 70_000]  # fmt: skip
    wide = list(range(20)) + list(range(70_000))
    named = {str(number): number for number in range(20)}
    assert count_items(srsly.msgpack_dumps(values)) == 1 + len(values)
    assert count_items(srsly.msgpack_dumps(wide)) == 1 + len(wide)
    assert count_items(srsly.msgpack_dumps([named, [[]], {}])) == 1 + 1 + 40 + 2 + 1


def _repeat(part: bytes, times: int) -> Iterator[bytes]:
    for _ in range(times):
        yield part


def _deflated(parts: Iterator[bytes]) -> bytes:
    squeeze = zlib.compressobj(1)
    return b"".join(squeeze.compress(part) for part in parts) + squeeze.flush()


def _gzipped(path: Path, parts: Iterator[bytes]) -> None:
    with gzip.open(path, "wb", 1) as file:
        for part in parts:
            file.write(part)


_MB = b"x" * 1_000_000


def _large_docbin(path: Path) -> None:
    path.write_bytes(_deflated(iter([b"\x81\xa5attrs\xc6\xff\xff\xff\xff", *_repeat(_MB, 2000)])))


def _lists(path: Path) -> None:
    path.write_bytes(_deflated(iter([b"\x81\xa5attrs\xdd\x08\x00\x00\x00",
                                     *_repeat(b"\x90" * 1_000_000, 135)])))  # fmt: skip


def _line_in_gzip(path: Path) -> None:
    _gzipped(path, iter([hostile.RAIN.encode(), *_repeat(_MB, 3000)]))


def _blank_lines(path: Path) -> None:
    _gzipped(path, iter([hostile.RAIN.encode(), *_repeat(b"\n" * 1_000_000, 3000)]))


def _long(before: bytes, after: bytes, megabytes: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.write(hostile.RAIN.encode() + before)
            for _ in range(megabytes):
                file.write(_MB)
            file.write(after)

    return make


def _one_line(path: Path) -> None:
    path.write_bytes(b"Rain fell and fell. " * 2_000_000)


def _short_lines(path: Path) -> None:
    path.write_bytes(b"1-x\n" * 20_000_000)


def _words(path: Path) -> None:
    path.write_bytes(b"a " * (MOST_LINE // 2 - 10) + b"\n")


def _comments(path: Path) -> None:
    with path.open("wb") as file:
        file.writelines(_repeat(b"# " + b"y" * 1000 + b"\n", 300_000))


LARGE: dict[str, Callable[[Path], None]] = {
    "a DocBin that inflates": _large_docbin,
    "a DocBin of lists": _lists,
    "a line in gzip": _line_in_gzip,
    "blank lines in gzip": _blank_lines,
    "a form": _long(b"1\t", b"\t_\t_\t_\t_\t0\troot\t_\t_\n", 300),
    "a text comment": _long(b"# text = ", b"\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n", 1000),
    "a line without an end": _long(b"", b"", 1000),
    "one line": _one_line,
    "lines without a blank one": _short_lines,
    "a line of words": _words,
    "comments": _comments,
}


MANY_LINES = ("lines without a blank one", "comments")
IN_FORMATS = [
    ("comments", "conllu"),
    ("one line", "conllu"), ("a form", "lines"), ("comments", "conll2012"),
    ("lines without a blank one", "conllu"), ("lines without a blank one", "conll2012"),
    ("lines without a blank one", "relations"), ("a line of words", "conllu"),
]  # fmt: skip


@pytest.mark.few("a DocBin that inflates-", "one line-conllu")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "format"),
    # As plain text the last two are as large as they seem: each of their lines is a sentence.
    [*((name, "") for name in LARGE if name not in MANY_LINES), *IN_FORMATS],
)
def test_large_input_takes_little_memory_and_time(tmp_path: Path, name: str, format: str) -> None:
    LARGE[name](tmp_path / "corpus")
    more = ["--format", format] if format else []
    command = ["ingest", "corpus", "--model", "minilm", "--skip-bad", "--limit", "1", *more]
    ended = hostile.measured(command, tmp_path, seconds=120)
    assert "fault of attnbank" not in ended.err and "Traceback" not in ended.err
    assert ended.memory < hostile.MOST_MEMORY
    assert ended.processor < 60


@pytest.mark.soak
def test_a_long_line_goes_through_a_pipeline_piece_by_piece(
    tmp_path: Path, tiny_pipeline: Path
) -> None:
    """A hundred thousand words, two pieces: spaCy alone would annotate them together."""
    (tmp_path / "corpus.txt").write_bytes(b"a " * 100_000)
    command = ["ingest", "corpus.txt", "--model", "minilm", "--dry-run", "--format", "text"]
    command += ["--skip-bad", "--spacy", str(tiny_pipeline)]
    ended = hostile.measured(command, tmp_path, seconds=600)
    assert "fault of attnbank" not in ended.err and "Traceback" not in ended.err
    assert ended.memory < hostile.MOST_MEMORY


@pytest.mark.slow
def test_yes_without_an_end_is_refused(tmp_path: Path) -> None:
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as yes:
        assert yes.stdout is not None
        ended = hostile.measured(
            ["ingest", "-", "--model", "minilm"], tmp_path, stdin=yes.stdout.fileno(), seconds=120
        )
        yes.kill()
    hostile.check_lines(ended.err.strip().splitlines())
    assert ended.memory < hostile.MOST_MEMORY
    assert hostile.files(tmp_path).keys() == {"home"}


@pytest.mark.usual(4)
@pytest.mark.few()  # each is read in test_faults.py
@pytest.mark.parametrize("key", made_faults.MADE, ids="/".join)
def test_a_bound_is_told_in_two_lines(
    tmp_path: Path,
    key: tuple[str, str],
    refused: Refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "corpus"
    for module in (limits, format):  # a bound of 1 MB in the place of 64
        monkeypatch.setattr(module, "SMALL_FILE", 2**20)
    made_faults.MADE[key](path)
    if key[0] == "text":
        pytest.skip("without a pipeline each line of it is a sentence")
    strict = ["--strict"] if document.FAULTS[key[1]].is_mended else []
    with hostile.nothing_made(tmp_path):
        error = refused("ingest", path, "--model", "minilm", *strict, status=1)
    assert key[1] in error
