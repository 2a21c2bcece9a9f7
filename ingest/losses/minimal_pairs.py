"""Minimal pairs: two texts that differ in one point, of which a model should prefer one.

Agreement pairs are made from a treebank: the form of a finite verb that agrees with its subject in
number is replaced by its form in the other number, if the corpus has it. Other pairs are read from
a file: BLiMP's JSON lines, or a table of good and bad texts.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.ingest.candidate_inputs import cursor_query, spans_of
from attnbank.ingest.corpora.document import FaultError
from attnbank.ingest.corpora.format import BOM, CONTROL, CorpusFile, decode
from attnbank.ingest.corpora.limits import MOST_WORDS
from attnbank.sql.errors import CallError
from attnbank.sql.messages import escape_control

MOST_PAIRS = 500_000
MOST_LINE = 1 << 16  # bytes of a line of a file of pairs
MOST_BYTES = (
    64 * 2**20
)  # of such a file, decompressed; its words take up to 25 times as much memory

_NAMES = {
    "good": ("good", "sentence_good", "good_sentence", "sen"),
    "bad": ("bad", "sentence_bad", "bad_sentence", "wrong_sen"),
    "paradigm": ("uid", "paradigm", "linguistics_term"),  # the first that the file has
}
_LINE_REMEDY = "Correct the line or delete it."
_HEADER_REMEDY = "Give a header with good and bad, or exactly two columns: good, then bad."
# What the first column of a list of labelled sentences has, which is no list of pairs.
_LABELS = frozenset({"true", "false", "0", "1", "*", "good", "bad", "acceptable", "unacceptable"})
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class PairSide:
    """One text of a pair: the words to tokenise, and whether white space follows each."""

    words: tuple[str, ...]
    spaces: tuple[bool, ...]


@dataclass(frozen=True)
class Pair:
    """An acceptable text, and an unacceptable one.

    `number` is the 1-based index in the source. `paradigm` is the kind of pair: for agreement, the
    relation of the subject; for a file, its own column or else the name of the file. `at` is the
    0-based index of the word that differs and is scored; None to score the whole text. The other
    fields are those of agreement pairs: `word` is word.id of the verb, `attractors` counts the
    nouns between verb and subject that have the other number, `distance` is that of verb and
    subject in words, and `is_inverted` is true if the subject follows the verb. `ids` are the first
    and the last word.id of each word.
    """

    number: int
    paradigm: str
    good: PairSide
    bad: PairSide
    at: int | None
    word: int | None = None
    attractors: int | None = None
    distance: int | None = None
    is_inverted: bool = False
    ids: tuple[tuple[int, int], ...] = ()

    @property
    def texts(self) -> list[str]:
        """The good and the bad word that is scored, or the whole texts."""
        sides = (self.good, self.bad)
        if self.at is not None:
            return [side.words[self.at] for side in sides]
        spaced = (zip(side.words, side.spaces, strict=True) for side in sides)
        return ["".join(word + " " * space for word, space in side).rstrip() for side in spaced]


def agreement_pairs(connection: DuckDBPyConnection, corpus: int) -> list[Pair]:
    """Return the agreement pairs of a corpus in text order; none without trees and features."""
    pairs = []
    rows = cursor_query(connection)("losses/agreement_pairs", {"corpus": corpus})
    for number, row in enumerate(rows, 1):
        word, relation, other_form, attractors, distance, is_inverted, *columns = row
        spans = spans_of(columns, "written")
        at = next(index for index, span in enumerate(spans) if span.first == word)
        good = PairSide(
            tuple(span.text for span in spans), tuple(span.space_after for span in spans)
        )
        bad = replace(good, words=(*good.words[:at], other_form, *good.words[at + 1 :]))
        ids = tuple((span.first, span.last) for span in spans)
        facts = word, attractors, distance, is_inverted, ids
        pairs.append(Pair(number, relation, good, bad, at, *facts))
    return pairs


def read_pairs(path: Path) -> list[Pair]:
    """Read the pairs of a file, in order.

    A JSON file has an object on each line, or a list of objects, with the keys of BLiMP. Any other
    file is a table in UTF-8, separated by tabs, or by commas (with quoted cells) if its name ends
    in .csv; or by semicolons, if it has a header with these. A header names the columns good
    and bad (or sentence_good and sentence_bad, good_sentence and bad_sentence, or sen and wrong_sen
    as MultiBLiMP does), and may name UID or paradigm; without a header there are two columns. The
    file may be compressed with gzip. Raises CallError, with the number of the line, for an invalid
    file.
    """
    source = CorpusFile(str(path), path, compressed=path.suffix == ".gz")
    stem = escape_control(source.stem)  # the name of a file may be invalid UTF-8
    pairs: list[Pair] = []
    try:
        for line, fields in _rows_of_source(source):
            if len(pairs) == MOST_PAIRS:
                raise _LineError(line, f"more than {MOST_PAIRS:,} pairs", "Split the file.")
            pairs.append(_parse_pair(len(pairs) + 1, stem, fields, line))
    except FaultError as fault:
        problem = fault.problem
        raise _line_error(path, problem.line, problem.fact, problem.remedy) from None
    except _LineError as wrong:
        raise _line_error(path, *wrong.args) from None
    if not pairs:
        raise CallError(f"{path} has no pairs.", _HEADER_REMEDY)
    return pairs


class _LineError(Exception):
    """An invalid line: its number, the fact, and the remedy."""

    def __init__(self, line: int, fact: str, remedy: str = _LINE_REMEDY) -> None:
        super().__init__(line, fact, remedy)


def _line_error(path: Path, line: int, fact: str, remedy: str) -> CallError:
    return CallError(f"{path}:{line}: {fact}." if line else f"{path}: {fact}.", remedy)


_Fields = Mapping[str, Any]  # the values of a line by role: good, bad, and perhaps paradigm


def _rows_of_source(source: CorpusFile) -> Iterator[tuple[int, _Fields]]:
    lines = _numbered_lines(source)
    line, text = next(((line, text) for line, text in lines if text.strip()), (0, ""))
    if text.lstrip().startswith("{"):
        yield from _json_rows(chain([(line, text)], lines))
    elif text.lstrip().startswith("["):
        yield from _json_list(text, (text for _, text in lines), line)
    elif text:
        is_csv = source.path.name.removesuffix(".gz").lower().endswith(".csv")
        usual = "," if is_csv else "\t"
        # A text may have a semicolon, so that only a header says that they separate columns.
        is_header = {"good", "bad"} <= {*_column_roles(text.split(";"), line)}
        separator = ";" if usual not in text and is_header else usual
        texts = (f"{text}\n" for _, text in lines)
        rows = _split_rows(chain([f"{text}\n"], texts), line, separator, is_quoted=is_csv)
        yield from _table_rows(rows)


def _numbered_lines(source: CorpusFile) -> Iterator[tuple[int, str]]:
    """Yield each line without its newline, and its 1-based number."""
    size = 0
    for line, raw in enumerate(source.lines(), start=1):
        size += len(raw)
        if len(raw) > MOST_LINE and not raw.lstrip().startswith(b"["):  # a list is one long line
            raise _LineError(line, f"the line has more than {MOST_LINE:,} bytes")
        if size > MOST_BYTES:
            raise _LineError(
                line, f"the file has more than {MOST_BYTES:,} bytes", "Split the file."
            )
        yield line, decode(raw.removeprefix(BOM) if line == 1 else raw, line).removesuffix("\n")


def _json_rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, _Fields]]:
    for line, text in lines:
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):  # ValueError also for an integer of 5,000 digits
            raise _LineError(line, "the line is not JSON") from None
        yield line, _fields_of_record(record, line, "the line")


def _json_list(text: str, others: Iterable[str], line: int) -> Iterator[tuple[int, _Fields]]:
    try:
        records = json.loads("\n".join([text, *others]))
    except (ValueError, RecursionError):
        raise _LineError(line, "the list that begins here is not JSON") from None
    for number, record in enumerate(records, start=1):
        yield line, _fields_of_record(record, line, f"item {number} of the list")


def _fields_of_record(record: Any, line: int, name: str) -> _Fields:
    if not isinstance(record, dict):
        raise _LineError(line, f"{name} is not a JSON object")
    roles = _column_roles([*record], line)
    if lacking := [role for role in ("good", "bad") if role not in roles]:
        raise _LineError(line, f"{name} has no {' or '.join(_NAMES[lacking[0]][:2])}")
    values = [*record.values()]
    return {role: values[at] for role, at in roles.items()}


def _split_rows(
    texts: Iterable[str], first: int, separator: str, *, is_quoted: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with the numbers of the lines where they begin."""
    if is_quoted:
        rows = csv.reader(texts, delimiter=separator, strict=True)
    else:  # a text may begin with a quotation mark
        rows = csv.reader(texts, delimiter=separator, quoting=csv.QUOTE_NONE)
    while True:
        line = first + rows.line_num
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise _LineError(line, f"the row that begins here is not valid CSV: {error}") from None
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield line, row


def _table_rows(rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, _Fields]]:
    line, first = next(rows)
    roles = _column_roles(first, line)
    if not roles and len(first) == 2:
        if first[0].strip().casefold() in _LABELS and len(first[1].split()) > 1:
            fact = f"{first[0].strip()!r} is a label, not a text: these are no pairs"
            raise _LineError(line, fact, _HEADER_REMEDY)
        roles = {"good": 0, "bad": 1}
        rows = chain([(line, first)], rows)
    elif not {"good", "bad"} <= {*roles}:
        count = "1 column" if len(first) == 1 else f"{len(first):,} columns"
        raise _LineError(line, f"{count}, and no header that names good and bad", _HEADER_REMEDY)
    for line, row in rows:
        if len(row) != len(first):
            raise _LineError(line, f"expected {len(first):,} columns, found {len(row):,}")
        yield line, {role: row[at] for role, at in roles.items()}


def _column_roles(names: Sequence[str], line: int) -> dict[str, int]:
    """Return the index of each known column by its role."""
    folded = [name.strip().casefold() for name in names]
    columns = {}
    for role, known in _NAMES.items():
        name = next((alias for alias in known if alias in folded), None)
        if name is None:
            continue
        if folded.count(name) > 1:
            raise _LineError(line, f"{name} is named twice")
        columns[role] = folded.index(name)
    return columns


def _parse_pair(number: int, stem: str, fields: _Fields, line: int) -> Pair:
    sides = {}
    for role, text in fields.items():
        # A JSON value may be of any type, and may escape any character.
        if role == "paradigm" and text is None:
            continue
        if not isinstance(text, str):
            raise _LineError(line, f"the value of {role} is not text")
        if wrong := CONTROL.search(text) or _SURROGATE.search(text):
            raise _LineError(line, f"{role} has the character U+{ord(wrong[0]):04X}")
        words = tuple(text.split())
        if role != "paradigm" and not words:
            raise _LineError(line, f"the {role} text is empty")
        if len(words) > MOST_WORDS:
            raise _LineError(line, f"the {role} text has more than {MOST_WORDS:,} words")
        sides[role] = PairSide(words, (True,) * len(words))
    if sides["good"] == sides["bad"]:
        raise _LineError(line, "the good and the bad text are the same")
    paradigm = " ".join(sides["paradigm"].words) if "paradigm" in sides else ""
    return Pair(number, paradigm or stem, sides["good"], sides["bad"], at=None)
