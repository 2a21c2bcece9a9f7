"""Makes faulty files that are too large to keep: each is written when a test needs it.

A maker writes its file to a path. If a reader of the format goes on after the fault, there are
sound sentences around the faulty one. It returns the line of the fault, or 0 if the whole file is
at fault.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attnbank.ingest.corpora import limits

RAIN = "1\tRain\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tfell\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
_RELATIONS = "Rain 2-nsubj\nfell 0-root\n\n"
_COLUMNS = "d\t0\t0\tRain\tNN\t(1)\nd\t0\t1\tfell\tVB\t-\n\n"
_TEXT = "Rain fell.\n\n"
_BEGIN, _END = "#begin document (d); part 000\n", "#end document\n"


def _row(at: int, form: str = "a", entity: str = "_") -> str:
    head, relation = (0, "root") if at == 1 else (1, "dep")
    return f"{at}\t{form}\t_\t_\t_\t_\t{head}\t{relation}\t_\t{entity}\n"


def _around(sound: str, faulty: str, before: str = "", after: str = "") -> Callable[[Path], int]:
    def make(path: Path) -> int:
        path.write_text(before + sound + faulty + "\n" + sound + after, encoding="utf-8")
        return (before + sound).count("\n") + 1

    return make


def _conll2012(faulty: str) -> Callable[[Path], int]:
    return _around(_COLUMNS, faulty, _BEGIN, _END)


def _docbin(make: Callable[[Any], None], words: list[str]) -> Callable[[Path], int]:
    """A maker of a DocBin with a faulty Doc between two sound ones."""

    def write(path: Path) -> int:
        from spacy.tokens import Doc, DocBin
        from spacy.vocab import Vocab

        vocab = Vocab()
        docs = [Doc(vocab, words=each) for each in (["Rain", "fell"], words, ["Rain", "fell"])]
        make(docs[1])
        DocBin(docs=docs).to_disk(path)
        return 0

    return write


def _mentions(doc: Any) -> None:
    doc.spans["coref_clusters_1"] = [doc[:] for _ in range(1001)]


def _packed(data: bytes, line: int = 0) -> Callable[[Path], int]:
    def make(path: Path) -> int:
        path.write_bytes(gzip.compress(data, 1, mtime=0))
        return line

    return make


def _inflating(path: Path) -> int:
    line = b"# " + b"x" * 999_999 + b"\n\n"  # a comment
    data = RAIN.encode() + line * (limits.SMALL_FILE // len(line) + 10)
    path.write_bytes(gzip.compress(data, 9, mtime=0))
    return 0


def _paragraph(path: Path) -> int:
    """Write two short paragraphs, and between them one that is too long."""
    line = b"x" * 999_999 + b"\n"
    with path.open("wb") as file:
        file.write(_TEXT.encode())
        for _ in range(limits.MOST_PARAGRAPH // len(line) + 2):
            file.write(line)
        file.write(b"\n" + _TEXT.encode())
    return 3


_LONG = "x" * (limits.MOST_CHARACTERS + 1)
_MANY = limits.MOST_WORDS + 1
_ENTITIES = "Entity=" + "".join(f"(e{at}-person-1" for at in range(1001))
_CLOSED = "Entity=" + "".join(f"e{at})" for at in range(1001))
_OPEN_2012 = "|".join(f"({at}" for at in range(1001))
_CLOSED_2012 = "|".join(f"{at})" for at in range(1001))

MADE: dict[tuple[str, str], Callable[[Path], int]] = {
    ("any", "inflates-too-far"): _inflating,
    ("any", "line-too-long"): _packed(b"Rain fell.\n" + b"x" * (limits.MOST_LINE + 1), 2),
    ("any", "blank-lines"): _packed(RAIN.encode() + b"\n" * 1_000_000, 1_000_003),
    ("conllu", "sentence-too-long"): _around(RAIN, "# x\n" * 100_001 + _row(1)),
    ("relations", "sentence-too-long"): _around(_RELATIONS, "x 1-x\n" * 100_001),
    ("conll2012", "sentence-too-long"): _conll2012("d\t0\t0\tRain\tNN\t-\n" * 100_001),
    ("text", "sentence-too-long"): _paragraph,
    ("conllu", "word-too-long"): _around(RAIN, _row(1, _LONG)),
    ("relations", "word-too-long"): _around(_RELATIONS, f"{_LONG} 0-root\n"),
    ("conll2012", "word-too-long"): _conll2012(f"d\t0\t0\t{_LONG}\tNN\t-\n"),
    ("lines", "word-too-long"): _around(_TEXT, f"{_LONG}\n"),
    ("text", "word-too-long"): _around(_TEXT, f"{_LONG}\n"),
    ("docbin", "word-too-long"): _docbin(lambda doc: None, ["a", _LONG]),
    ("conllu", "too-many-words"): _around(RAIN, "".join(_row(at + 1) for at in range(_MANY))),
    ("relations", "too-many-words"): _around(_RELATIONS, "x 0-root\n" + "x 1-x\n" * _MANY),
    ("conll2012", "too-many-words"): _conll2012("d\t0\t0\tRain\tNN\t-\n" * _MANY),
    ("docbin", "too-many-words"): _docbin(lambda doc: None, ["a"] * _MANY),
    ("conllu", "too-many-mentions"): _around(
        RAIN,
        _row(1, "a", _ENTITIES) + "".join(_row(at) for at in range(2, 1000))
        + _row(1000, "a", _CLOSED),
    ),
    ("conll2012", "too-many-mentions"): _conll2012(
        f"d\t0\t0\ta\tNN\t{_OPEN_2012}\n" + "d\t0\t1\ta\tNN\t-\n" * 998
        + f"d\t0\t2\ta\tNN\t{_CLOSED_2012}\n"
    ),
    ("docbin", "too-many-mentions"): _docbin(_mentions, ["a"] * 1000),
    ("docbin", "mark-in-word"): _docbin(lambda doc: None, ["a", "\ufeffb"]),
    ("docbin", "control-character"): _docbin(lambda doc: None, ["a", "b\x07"]),
}  # fmt: skip
