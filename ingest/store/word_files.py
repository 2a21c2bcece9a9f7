"""Files with rows about words (CSV, TSV, Parquet, JSON): what is in them, before DuckDB reads it.

Such a file may come from somebody else. DuckDB guesses how a CSV file is written, and may take a
quote in a text for one around it, or leave out lines that do not fit. So all of that is told here,
and what is left for DuckDB to find are the types of the columns.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.ingest.corpora.document import FaultError
from attnbank.ingest.corpora.source import BOM, CorpusFile
from attnbank.sql.bank.error_messages import is_full_disk
from attnbank.sql.errors import AttnbankError, CallError, first_line
from attnbank.sql.messages import escape_control, join_names
from attnbank.sql.outputs.atomic import expanded, kind_of_file
from attnbank.sql.quoting import literal, quoted

ROWS = "annotated_row"
"""The temporary table that a file is read into."""
KEYS = {
    "sent_id": ("sent_id",),
    "index": ("index", "word_index", "id"),
    "document": ("document", "doc_id"),
    "form": ("form",),
    "word": ("word",),
}
"""The columns that name a word, by what they say, and what they may be called."""
MOST_ROWS = 100_000_000
MOST_COLUMNS = 1_000
_MOST_LINE = 2_000_000  # bytes; DuckDB's own limit for a line of CSV
_MOST_NAME = 255  # characters of the name of a column
_PIECE = 2**20
_KINDS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}
_KINDS |= {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_PACKED = ".gz"
_PATTERN = "*?["
_WHOLE_CELL = re.compile(rb'"(?:[^"]|"")*"')
_REASONS = {
    "TOO MANY COLUMNS": "it has more cells than the first line has names",
    "MISSING COLUMNS": "it has fewer cells than the first line has names",
    "UNQUOTED VALUE": "a quotation mark in it stands alone (two stand for one within quotes)",
    "LINE SIZE OVER MAXIMUM": f"it has more than {_MOST_LINE:,} bytes",
}
"""What is wrong with a line, by DuckDB's name for the error."""
_SCALARS = frozenset({
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
    "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "DATE", "TIME", "TIMESTAMP",
    "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
})  # fmt: skip
_AS_TEXT = frozenset({
    "JSON", "UUID", "ENUM", '"NULL"', "TIME_NS", "TIMESTAMPTZ_NS", "TIME WITH TIME ZONE",
    "INTERVAL",
})  # fmt: skip
"""Types that become text; those that are in neither set hold several values, or bytes."""


class WordFileError(AttnbankError):
    """A file with rows about words cannot be read as it is, or does not fit the bank."""


@dataclass(frozen=True)
class WordFile:
    """A file with rows about words: how the user named it, where it is, how DuckDB reads it.

    `names` are those of a CSV file's first line. `keys` are the names of the columns that name the
    word, by what they say; `columns` are the types of the others. `describe` fills the two.
    """

    shown: str
    path: Path
    kind: str
    packed: bool = False
    delimiter: str = ","
    quote: str = '"'
    names: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        """The name of the file without its folder and endings."""
        name = Path(self.shown).name
        return Path(name[: -len(_PACKED)] if self.packed else name).stem

    def source(self, types: Mapping[str, str] | None = None) -> str:
        """What DuckDB reads the file with; `types` are those of some columns, of JSON of all."""
        where = literal(str(self.path))
        if self.kind == "parquet":
            return f"read_parquet({where}, hive_partitioning = false)"
        pairs = (types or {}).items()
        typed = ", ".join(f"{literal(name)}: {literal(type_)}" for name, type_ in pairs)
        if self.kind == "csv":
            given = f", types = {{{typed}}}" if typed else ""
            return f"read_csv({where}, {self._dialect}, sample_size = -1{given})"
        packing = "gzip" if self.packed else "uncompressed"
        given = f", columns = {{{typed}}}" if typed else ", sample_size = -1"
        form = "newline_delimited" if self.kind == "jsonl" else "auto"
        return (
            f"read_json({where}, format = '{form}', records = true, compression = '{packing}',"
            f" hive_partitioning = false{given})"
        )

    @property
    def _dialect(self) -> str:
        return (
            f"delim = {literal(self.delimiter)}, quote = {literal(self.quote)},"
            f" escape = {literal(self.quote)}, header = true, skip = 0, comment = '',"
            f" compression = '{'gzip' if self.packed else 'none'}', hive_partitioning = false"
        )

    def rejected(self) -> str:
        """A SELECT that reads the file as text; what it cannot read is in `reject_errors` then."""
        names = (name or f"column{at}" for at, name in enumerate(self.names))
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
        return (
            f"select count(*) from read_csv({literal(str(self.path))}, {self._dialect},"
            f" auto_detect = false, columns = {{{columns}}}, store_rejects = true,"
            " rejects_limit = 1)"
        )


def find(file: str | Path) -> WordFile:
    """A file whose name, bytes and first line are checked; nothing but it is read.

    Raises CallError if it cannot be opened, or its ending says nothing; WordFileError if it is not
    text as its ending says, or has no names of columns.
    """
    told = os.fspath(file)
    packed = told.lower().endswith(_PACKED)
    ending = Path(told[: -len(_PACKED)] if packed else told).suffix.lower()
    place = _place(told)
    kind = _KINDS.get(ending)
    if kind is None or (packed and kind == "parquet"):
        raise CallError(
            f"The format of {told} cannot be inferred from its name.",
            f"Give a file that ends in {', '.join(_KINDS)}; all but .parquet may be"
            f" compressed ({_PACKED}).",
        )
    if not place.stat().st_size:
        raise WordFileError(f"{told} is empty.", "Give a file with rows about words.")
    word_file = WordFile(told, place, kind, packed)
    if kind == "parquet":
        return word_file
    try:
        with CorpusFile(told, place, compressed=packed).open() as opened:
            if kind != "csv":
                deque(_text(told, iter(lambda: opened.read(_PIECE), b"")), maxlen=0)
                return word_file
            return _of_first_line(word_file, opened, "\t" if ending != ".csv" else None)
    except FaultError as error:  # of a compressed file
        raise WordFileError(f"{told} cannot be read: {error.fact}.", error.remedy) from None


def _place(told: str) -> Path:
    """The absolute path of a file. Raises CallError if there is none that DuckDB can open."""
    try:
        told.encode()
        place = expanded(told).resolve()
        mode = place.stat().st_mode
    except UnicodeEncodeError:
        raise CallError(f"The file name {told} is not valid UTF-8.", "Rename the file.") from None
    except (FileNotFoundError, NotADirectoryError):
        raise CallError(f"{told} does not exist.", "Check the path.") from None
    except (OSError, RuntimeError, ValueError) as error:  # no permission, a circle of links, a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise CallError(f"{told} cannot be opened: {reason}.", "Check the path.") from None
    if kind := kind_of_file(mode):
        raise CallError(f"{told} is {kind}, not a file with rows.", "Give the path of a file.")
    if any(character in str(place) for character in _PATTERN):
        raise CallError(
            f"The path {place} has one of {' '.join(_PATTERN)}, which DuckDB takes for a pattern.",
            "Rename it, or copy it to another folder.",
        )
    return place


def _text(told: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a file that must be text in UTF-8. Raises WordFileError where it is not."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    for piece in pieces:
        begun = len(decoder.getstate()[0])  # of a character, in the piece before
        fault, why = piece.find(b"\0"), "it has a byte that is 0"
        try:
            decoder.decode(piece)
        except UnicodeDecodeError as error:
            fault, why = max(0, error.start - begun), error.reason
        if fault >= 0:
            raise _no_text(told, line + piece.count(b"\n", 0, fault), why)
        yield piece
        line += piece.count(b"\n")
    if decoder.getstate()[0]:
        raise _no_text(told, line, "it is cut off")


def _no_text(told: str, line: int, why: str) -> WordFileError:
    return WordFileError(
        f"{told}:{line} is not text in UTF-8: {why}.", "Save the file as UTF-8 (CSV UTF-8)."
    )


def _of_first_line(word_file: WordFile, file: BinaryIO, delimiter: str | None) -> WordFile:
    """A CSV file with its names, its delimiter, and whether there are quotation marks around cells.

    The delimiter is that between the names. In a file with tabs a cell that only begins with a
    quotation mark is a text that does: such files are written without them.
    """
    begin = file.readline(_PIECE)
    if len(begin) >= _PIECE:
        raise WordFileError(
            f"{word_file.shown}:1: the names of the columns have more than {_PIECE:,} bytes.",
            "Give a file whose first line names its columns.",
        )
    line = re.split(rb"[\r\n]", begin.removeprefix(BOM), maxsplit=1)[0]
    text = line.decode(errors="replace")  # what is not text is refused below
    delimiter = delimiter or next(
        (delimiter_ for delimiter_ in ",;\t|" if _names_words(text, delimiter_)), ","
    )
    read = file.readline if delimiter == "\t" else file.read
    pieces = _text(word_file.shown, chain([begin], iter(lambda: read(_PIECE), b"")))
    is_quoted = delimiter != "\t" or all(map(_is_quoted, pieces))
    deque(pieces, maxlen=0)  # the rest is text, too, or it is said here
    cells = _split(text, delimiter) if is_quoted else text.split(delimiter)
    names = [cell.strip() for cell in cells]  # as DuckDB does
    return replace(
        word_file,
        delimiter=delimiter,
        quote='"' if is_quoted else "",
        names=_checked(word_file, names),
    )


def _is_quoted(line: bytes) -> bool:
    """Whether the cells between tabs that begin with a quotation mark stand within two."""
    return b'"' not in line or all(
        not cell.startswith(b'"') or _WHOLE_CELL.fullmatch(cell)
        for cell in line.removeprefix(BOM).rstrip(b"\r\n").split(b"\t")
    )


def _split(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return text.split(delimiter)


def _names_words(text: str, delimiter: str) -> bool:
    names = {name.strip().lower() for name in _split(text, delimiter)}
    return len(names) > 1 and bool(names & {"sent_id", "word"})


def _checked(word_file: WordFile, names: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns. Raises WordFileError for two that are one to DuckDB, or unfit."""
    if len(names) > MOST_COLUMNS:
        raise WordFileError(
            f"{word_file.shown} has {len(names):,} columns, where {MOST_COLUMNS:,} are the most.",
            "Leave out those that you do not need.",
        )
    seen: set[str] = set()
    for name in filter(None, names):  # an empty name gets one from DuckDB: column0
        if name.lower() in seen:
            raise WordFileError(
                f"{word_file.shown} has two columns {name}, capitals aside.", "Rename one of them."
            )
        seen.add(name.lower())
        if not name.isprintable() or not name.strip() or len(name) > _MOST_NAME:
            raise WordFileError(
                f"{word_file.shown} has a column that is called {escape_control(name)[:80]!r}.",
                f"Give it a name of up to {_MOST_NAME} characters that can be seen.",
            )
    return tuple(names)


def describe(connection: DuckDBPyConnection, word_file: WordFile) -> WordFile:
    """Find the columns of a file, which the connection may read; which of them name the word.

    Raises WordFileError if the file cannot be read, names no word, or says nothing about it.
    """
    keys = _keys(word_file, word_file.names) if word_file.names else {}
    with _reading(connection, word_file):
        as_text = dict.fromkeys(keys.values(), "VARCHAR")
        rows = connection.execute(f"describe from {word_file.source(as_text)}").fetchall()
        types = {name: type_ for name, type_, *_ in rows}
        if word_file.kind == "parquet":
            place = literal(str(word_file.path))
            named = connection.execute(f"select name from parquet_schema({place})").fetchall()
            doubled = next((name for name in types if (name,) not in named), None)
            if doubled is not None:  # DuckDB has told them apart by a number
                raise WordFileError(
                    f"{word_file.shown} has two columns {doubled.rpartition('_')[0]}, capitals"
                    " aside.",
                    "Rename one of them.",
                )
    _checked(word_file, [*types])
    keys = _keys(word_file, [*types])
    columns = {
        name: _type(word_file, name, types[name]) for name in types if name not in keys.values()
    }
    if not columns:
        raise WordFileError(
            f"{word_file.shown} has no column besides {', '.join(keys.values())}.",
            "Give a file that says something about the words.",
        )
    return replace(word_file, keys=keys, columns=columns)


def _keys(word_file: WordFile, names: Sequence[str]) -> dict[str, str]:
    """The names of the columns that name the word, by what they say. Raises WordFileError."""
    known = {
        key: [name for name in names if name.lower() in called] for key, called in KEYS.items()
    }
    sentences, words = known["sent_id"], known["word"]
    if sentences and words:
        raise WordFileError(
            f"{word_file.shown} has {sentences[0]} and {words[0]}, which both name words.",
            "Rename one: word holds ids of the table word; a form that is to be checked is form.",
        )
    used = ("word", "form") if words else ("sent_id", "index", "document", "form")
    if not words and not (sentences and known["index"]):
        raise WordFileError(
            f"{word_file.shown} does not name words: no column"
            f" {'index' if sentences else 'sent_id'}.",
            "Give it the columns sent_id and index, or word (word.id)."
            f" It has: {join_names(names)}.",
        )
    for key in used:
        if len(known[key]) > 1:
            raise WordFileError(
                f"{word_file.shown} has {' and '.join(known[key])}, each of which may be the"
                f" {key}.",
                "Rename those that are not.",
            )
    return {key: known[key][0] for key in used if known[key]}


def _type(word_file: WordFile, name: str, type_: str) -> str:
    base = type_.partition("(")[0]
    if not type_.endswith("]") and base in _SCALARS:
        return type_
    if not type_.endswith("]") and base in _AS_TEXT:
        return "VARCHAR"
    raise WordFileError(
        f"The column {name} of {word_file.shown} is {type_[:60]}: no number, text or time.",
        "Write each value as a column of its own, or leave it out.",
    )


def stage(connection: DuckDBPyConnection, word_file: WordFile) -> int:
    """Read a file into the temporary table ROWS; how many rows it has.

    That has `n`, the number of the row, the text that names the word (`sent_id`, `document`,
    `word_number`, `form`; null where the file has no such column), and the others as `c1` and so
    on. Raises WordFileError if the file cannot be read, or has no rows or too many.
    """
    keys = dict(word_file.keys)
    keys["word_number"] = keys["word" if "word" in keys else "index"]
    values = {
        column: f"cast({quoted(keys[column]) if column in keys else 'null'} as varchar)"
        for column in ("sent_id", "document", "word_number", "form")
    }
    values |= {
        f"c{number}": f"cast({quoted(name)} as {type_})"
        for number, (name, type_) in enumerate(word_file.columns.items(), 1)
    }
    types = dict.fromkeys(word_file.keys.values(), "VARCHAR")
    if word_file.kind in ("json", "jsonl"):
        types |= word_file.columns
    selected = ", ".join(f"{value} as {name}" for name, value in values.items())
    with _reading(connection, word_file):
        if word_file.kind == "parquet":  # a few bytes can stand for billions of rows
            ((rows,),) = connection.execute(f"select count(*) from {word_file.source()}").fetchall()
            _check_rows(word_file, rows)
        connection.execute(
            f"create or replace temp table {ROWS} as select row_number() over () as n, {selected}"
            f" from {word_file.source(types)} limit {MOST_ROWS + 1}"
        )
        ((rows,),) = connection.execute(f"select count(*) from {ROWS}").fetchall()
    _check_rows(word_file, rows)
    return int(rows)


def _check_rows(word_file: WordFile, rows: int) -> None:
    if not rows:
        raise WordFileError(f"{word_file.shown} has no rows.", "Give a file with rows about words.")
    if rows > MOST_ROWS:
        raise WordFileError(
            f"{word_file.shown} has more than {MOST_ROWS:,} rows.", "Divide it into several tables."
        )


@contextmanager
def _reading(connection: DuckDBPyConnection, word_file: WordFile) -> Iterator[None]:
    """Within, an error of DuckDB is about the file, unless the disk is full."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        if is_full_disk(error):
            raise
        raise WordFileError(
            f"Reading {word_file.shown} takes more memory than it may.",
            "Leave out its longest texts, or divide it into several files.",
        ) from error
    except duckdb.Error as error:
        if is_full_disk(error):
            raise
        line, reason = _of_line(connection, word_file) or ("", first_line(error).rstrip(". "))
        told = reason.replace(str(word_file.path), word_file.shown)[:300]
        raise WordFileError(
            f"{word_file.shown}{line} cannot be read: {told}.",
            "Correct the file, or write it again.",
        ) from error


def _of_line(connection: DuckDBPyConnection, word_file: WordFile) -> tuple[str, str] | None:
    """Which line of a CSV file is wrong (`:3`), and why; None where that is not known."""
    if word_file.kind != "csv":
        return None
    try:
        connection.execute(word_file.rejected()).fetchall()
        rows = connection.execute(
            "select line, error_type from reject_errors order by line, column_idx limit 1"
        ).fetchall()
    except duckdb.Error:  # the line is only more to say of an error that is told anyway
        return None
    return next(((f":{line}", _REASONS.get(kind, kind.lower())) for line, kind in rows), None)
