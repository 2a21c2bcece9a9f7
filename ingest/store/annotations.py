"""Annotates words with columns of a file, as a table that joins with `word`.

The table has a column `word`, which is word.id. As for every table of a user with a column of this
name (`store.deleting`), its rows are deleted with their corpus, and get new ids in a merge.

The file may come from somebody else. DuckDB's sniffer may take a quotation mark in a text for one
around it, or leave out lines that do not fit. So all that it finds are the types of columns: the
delimiter, the quotation mark and the names of a CSV file are found here, and a line that does not
fit them is refused.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.ingest.corpora.document import FaultError
from attnbank.ingest.corpora.format import BOM, CorpusFile
from attnbank.ingest.store.deleting import TableReference, table_references
from attnbank.ingest.store.writer import open_for_changes
from attnbank.sql import registry
from attnbank.sql.bank import bank_format
from attnbank.sql.bank.connections import transaction
from attnbank.sql.errors import AttnbankError, CallError, first_line, is_full_disk
from attnbank.sql.ids import OF_WORDS
from attnbank.sql.messages import escape_control, join_names
from attnbank.sql.names import literal, qualified_name, quoted
from attnbank.sql.outputs import expanded, kind_of_file
from attnbank.sql.run_choice import find_corpus

_ROWS, _WORDS = "annotated_row", "annotated_word"  # temporary tables
# DuckDB's reader of a file, by its ending.
_READERS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}
_READERS |= {".json": "json", ".jsonl": "json", ".ndjson": "json"}
# The columns that name a word, by what they say, and what they may be called.
_KEYS = {
    "sent_id": ("sent_id",),
    "index": ("index", "word_index", "id"),
    "document": ("document", "doc_id"),
    "form": ("form",),
    "word": ("word",),
}
_MOST_ROWS = 100_000_000
_MOST_COLUMNS = 1_000
_MOST_NAME = 255  # characters of the name of a column
_LONGEST = 60  # characters of a value in a message
_PIECE = 2**20  # bytes
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
# A cell between tabs that begins with a quotation mark, and is not within two.
_BARE_QUOTE = re.compile(
    rb'(?:^(?:\xef\xbb\xbf)?|[\t\n])"(?!(?:[^"\t\n]|"")*+"(?:\t|[\r\n]*$|\r*\n))'
)
# Enough for a file of any size: DuckDB spills to a temporary file beside the bank.
_SETTINGS = {"memory_limit": "1GB", "threads": "2"}
# What is wrong with a line, by DuckDB's name for the error.
_REASONS = {
    "TOO MANY COLUMNS": "it has more cells than the first line has names",
    "MISSING COLUMNS": "it has fewer cells than the first line has names",
    "UNQUOTED VALUE": "a quotation mark in it stands alone (two stand for one within quotes)",
    "LINE SIZE OVER MAXIMUM": "it has more than 2,000,000 bytes",
    "CAST": "a value in it is of another type than those of its column",
}
# Types that a column keeps; others become text, but for those that hold several values or bytes.
_SCALARS = frozenset({
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
    "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "DATE", "TIME", "TIMESTAMP",
    "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
})  # fmt: skip
_NO_SCALARS = ("STRUCT", "MAP", "UNION", "VARIANT", "BLOB", "BIT", "GEOMETRY")


class WordFileError(AttnbankError):
    """A file with rows about words cannot be read as it is, or does not fit the bank."""


@dataclass(frozen=True)
class Annotated:
    """The new table: its name, its number of rows and of words, and its columns with their types.

    `repeated` words have several rows, up to `most`. `left_out` counts the skipped rows of the file
    by reason; `references` are the columns that refer to ids or names of the bank.
    """

    name: str
    rows: int
    words: int
    columns: Mapping[str, str]
    repeated: int
    most: int
    left_out: Mapping[str, int]
    references: tuple[str, ...]


def annotate(
    bank: str | Path,
    file: str | Path,
    name: str | None = None,
    corpus: str | None = None,
    *,
    replace: bool = False,
    skip_bad: bool = False,
) -> Annotated:
    """Write the columns of a file of words into a bank, as a table of the user.

    The file (CSV, TSV, Parquet, JSON) identifies each word by `sent_id` and `index`, and optionally
    `document`, or by `word` (word.id); `form` is compared with the text. The other columns become
    those of the table `name`, by default named after the file. `corpus` restricts the sentences to
    those of one corpus. With `replace`, a table of the user of the same name is replaced; with
    `skip_bad`, rows that match no word are skipped.

    Raises CallError for an invalid name, an unknown corpus, and a file that cannot be opened;
    WordFileError for one that cannot be parsed, or whose rows do not match the bank; BankError if
    the bank cannot be written. The bank is then unchanged.
    """
    word_file = _find_file(file)
    table = _table_name_of_file(word_file) if name is None else name
    if not _NAME.fullmatch(table):
        raise CallError(
            f"A table cannot be called {table}.",
            "Use up to 63 letters, digits and _, starting with a letter (--name TABLE).",
        )
    reads = (word_file.path,)
    with open_for_changes(Path(bank), "nothing was kept", _SETTINGS, reads=reads) as connection:
        _check_free(connection, table, replace=replace)
        number = None if corpus is None else find_corpus(connection, bank, corpus)[0]
        with _file_errors(word_file):
            word_file = _find_columns(connection, word_file)
            rows = _stage(connection, word_file)
        left_out = _match_words(connection, word_file, number, rows, skip_bad=skip_bad)
        with transaction(connection):
            connection.execute(f"drop table if exists {qualified_name('main', table)}")
            _write_annotations(connection, table, word_file)
            refers = _find_references(connection, table, word_file)
        ((total, words, repeated, most),) = connection.execute(
            "select coalesce(sum(n), 0)::bigint, count(*), count(*) filter (where n > 1),"
            " coalesce(max(n), 0) from"
            f" (select count(*) as n from {qualified_name('main', table)} group by word)"
        ).fetchall()
    columns = dict(word_file.columns)
    return Annotated(table, total, words, columns, repeated, most, left_out, refers)


@dataclass(frozen=True)
class _WordFile:
    """A file with rows about words: how the user named it, and how DuckDB reads it.

    `keys` are the names of the columns that name the word, by what they say; `columns` are the
    types of the others.
    """

    typed: str  # the path as the user typed it
    stem: str  # its name without folder and endings
    path: Path
    reader: str
    arguments: str = ""  # of DuckDB's reader
    names: tuple[str, ...] = ()  # the columns of a CSV file
    keys: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def error(
        self, fact: str, remedy: str = "Correct the file, or write it again."
    ) -> WordFileError:
        return WordFileError(f"{self.typed}{fact}.", remedy)


def _find_file(file: str | Path) -> _WordFile:
    """Check the name and the bytes of a file, and read the first line of a CSV file.

    Raises CallError if it cannot be opened, or its ending says nothing; WordFileError if it is not
    text as its ending says, or has no names of columns.
    """
    typed = os.fspath(file)
    path = _path_of_file(typed)
    packed = typed.lower().endswith(".gz")
    name = Path(typed[:-3] if packed else typed)
    ending = name.suffix.lower()
    reader = _READERS.get(ending, "")
    if not reader or (packed and reader == "parquet"):
        raise CallError(
            f"The format of {typed} cannot be inferred from its name.",
            f"Give a file that ends in {', '.join(_READERS)}; all but .parquet may be"
            " compressed (.gz).",
        )
    if not path.stat().st_size:
        raise WordFileError(f"{typed} is empty.", "Give a file with rows about words.")
    arguments = f"{literal(str(path))}, hive_partitioning = false"
    if reader == "parquet":
        return _WordFile(typed, name.stem, path, reader, arguments)
    arguments += f", compression = '{'gzip' if packed else 'none'}'"
    if reader == "json":
        form = "auto" if ending == ".json" else "newline_delimited"
        arguments += f", format = '{form}', records = true"
    word_file = _WordFile(typed, name.stem, path, reader, arguments)
    try:
        with CorpusFile(typed, path, compressed=packed).open() as opened:
            # Whole lines, unless they are very long.
            pieces = iter(lambda: opened.read(_PIECE) + opened.readline(_PIECE), b"")
            if reader == "csv":
                return _read_header(word_file, pieces, "\t" if ending == ".tsv" else "")
            _check_text(typed, pieces)
    except FaultError as error:  # of a compressed file
        raise WordFileError(f"{typed} cannot be read: {error.fact}.", error.remedy) from None
    return word_file


def _path_of_file(typed: str) -> Path:
    """Return the absolute path of a file. Raises CallError if DuckDB cannot open it."""
    try:
        typed.encode()
        path = expanded(typed).resolve()
        mode = path.stat().st_mode
    except UnicodeEncodeError:
        raise CallError(f"The file name {typed} is not valid UTF-8.", "Rename the file.") from None
    except (FileNotFoundError, NotADirectoryError):
        raise CallError(f"{typed} does not exist.", "Check the path.") from None
    except (OSError, RuntimeError, ValueError) as error:  # no permission, a circle of links, a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise CallError(f"{typed} cannot be opened: {reason}.", "Check the path.") from None
    if kind := kind_of_file(mode):
        raise CallError(f"{typed} is {kind}, not a file with rows.", "Give the path of a file.")
    if any(character in str(path) for character in "*?["):
        raise CallError(
            f"The path {path} has one of * ? [, which DuckDB takes for a pattern.",
            "Rename it, or copy it to another folder.",
        )
    return path


def _read_header(word_file: _WordFile, pieces: Iterator[bytes], delimiter: str) -> _WordFile:
    """Read the names of the columns of a CSV file, and its delimiter, the one between them.

    In a file with tabs a cell that only begins with a quotation mark is a text that does: such
    files are written without quotation marks around cells.
    """
    first = next(pieces, b"")
    line = re.split(rb"[\r\n]", first.removeprefix(BOM), maxsplit=1)[0]
    if len(line) >= _PIECE:
        fact = f":1: the names of the columns have more than {_PIECE:,} bytes"
        raise word_file.error(fact, "Give a file whose first line names its columns.")
    header = line.decode(errors="replace")  # bytes that are not UTF-8 are refused below
    for mark in "" if delimiter else ",;\t|":
        marked = {name.strip(' "').lower() for name in header.split(mark)}
        if len(marked) > 1 and marked & {"sent_id", "word"}:
            delimiter = mark
            break
    delimiter = delimiter or ","
    is_quoted = _check_text(word_file.typed, chain([first], pieces), delimiter == "\t")
    cells = header.split(delimiter)
    if is_quoted:
        try:
            reader = csv.reader([header], delimiter=delimiter, strict=True, skipinitialspace=True)
            cells = next(reader, None) or [""]
        except csv.Error:
            raise word_file.error(f":1 cannot be read: {_REASONS['UNQUOTED VALUE']}") from None
    names = [cell.strip() or f"column{at}" for at, cell in enumerate(cells)]
    _check_names(word_file, names)
    quote = literal('"' if is_quoted else "")
    dialect = f"delim = {literal(delimiter)}, quote = {quote}, escape = {quote}, header = true"
    arguments = f"{word_file.arguments}, {dialect}, skip = 0, comment = ''"
    return replace(word_file, arguments=arguments, names=tuple(names))


def _check_text(typed: str, pieces: Iterator[bytes], may_be_unquoted: bool = False) -> bool:
    """Raise WordFileError for bytes that are not text in UTF-8.

    The result is False for a file with tabs without quotation marks around cells, with
    `may_be_unquoted`.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    number, is_quoted = 1, True
    for piece in chain(pieces, [b""]):
        fault, why = piece.find(b"\0"), "it has a byte that is 0"
        try:
            decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            if not 0 <= fault < error.start:
                fault, why = error.start, error.reason
        if fault >= 0:
            number += piece.count(b"\n", 0, fault)
            raise WordFileError(
                f"{typed}:{number} is not text in UTF-8: {why}.",
                "Save the file as UTF-8 (CSV UTF-8).",
            )
        is_quoted = is_quoted and not (may_be_unquoted and _BARE_QUOTE.search(piece))
        number += piece.count(b"\n")
    return is_quoted


def _check_names(word_file: _WordFile, names: Sequence[str]) -> None:
    """Raise WordFileError for names of columns that are invalid, or the same to DuckDB."""
    if len(names) > _MOST_COLUMNS:
        fact = f" has {len(names):,} columns, where {_MOST_COLUMNS:,} are the most"
        raise word_file.error(fact, "Leave out those that you do not need.")
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise word_file.error(f" has two columns {name}, capitals aside", "Rename one of them.")
        seen.add(name.lower())
        if not name.isprintable() or not name.strip() or len(name) > _MOST_NAME:
            raise word_file.error(
                f" has a column that is called {escape_control(name)[:80]!r}",
                f"Give it a name of up to {_MOST_NAME} characters that can be seen.",
            )


@contextmanager
def _file_errors(word_file: _WordFile) -> Iterator[None]:
    """Context manager for errors of DuckDB that are about the file, unless the disk is full."""
    try:
        yield
    except duckdb.Error as error:
        if is_full_disk(error):
            raise
        if isinstance(error, duckdb.OutOfMemoryException):
            raise WordFileError(
                f"Reading {word_file.typed} takes more memory than it may.",
                "Leave out its longest texts, or divide it into several files.",
            ) from error
        reason = first_line(error).rstrip(". ").replace(str(word_file.path), word_file.typed)
        if reason.endswith("reached an invalid state"):  # of the reader of CSV
            reason = "only some of its lines end in a carriage return, or one stands within a line"
        raise word_file.error(f" cannot be read: {reason[:300]}") from error


def _find_columns(connection: DuckDBPyConnection, word_file: _WordFile) -> _WordFile:
    """Find the columns of a file and their types, and which of them name the word.

    Raises WordFileError if the file names no word, or says nothing about it.
    """
    arguments = word_file.arguments
    if word_file.reader == "csv":
        types, formats = _sniff_types(connection, word_file)
        arguments += formats
    else:
        sample = ", sample_size = -1" if word_file.reader == "json" else ""
        rows = connection.execute(
            f"describe from read_{word_file.reader}({arguments}{sample})"
        ).fetchall()
        types = {name: type_ for name, type_, *_ in rows}
        if word_file.reader == "parquet":
            schema = f"select name from parquet_schema({literal(str(word_file.path))})"
            in_file = {name for (name,) in connection.execute(schema).fetchall()}
            # DuckDB tells two columns of one name apart by a number.
            _check_names(
                word_file, [name if name in in_file else name.rpartition("_")[0] for name in types]
            )
        _check_names(word_file, [*types])
    keys = _keys_of_columns(word_file, [*types])
    columns = {}
    for name, type_ in types.items():
        if name in keys.values():
            continue
        base = type_.partition("(")[0]
        if type_.endswith("]") or base in _NO_SCALARS:
            raise WordFileError(
                f"The column {name} of {word_file.typed} is {type_[:60]}: no number, text or time.",
                "Write each value as a column of its own, or leave it out.",
            )
        columns[name] = type_ if base in _SCALARS else "VARCHAR"
    if not columns:
        fact = f" has no column besides {', '.join(keys.values())}"
        raise word_file.error(fact, "Give a file that says something about the words.")
    return replace(word_file, arguments=arguments, keys=keys, columns=columns)


def _sniff_types(
    connection: DuckDBPyConnection, word_file: _WordFile
) -> tuple[dict[str, str], str]:
    """Return the types of the columns of a CSV file, and the options for dates in them."""
    try:
        ((columns, *formats),) = connection.execute(
            "select columns, dateformat, timestampformat"
            f" from sniff_csv({word_file.arguments}, sample_size = -1)"
        ).fetchall()
    except duckdb.InvalidInputException:
        columns, formats = [], []
    if len(columns) != len(word_file.names):  # reading it says what is wrong
        return dict.fromkeys(word_file.names, "VARCHAR"), ""
    # DuckDB sniffs inf as a date, but does not read it as one if it is given the usual format.
    options = "".join(
        f", {name} = {literal(form)}"
        for name, form in zip(("dateformat", "timestampformat"), formats, strict=True)
        if form and form != "%Y-%m-%d"
    )
    return dict(zip(word_file.names, (column["type"] for column in columns), strict=True)), options


def _keys_of_columns(word_file: _WordFile, names: Sequence[str]) -> dict[str, str]:
    """Return the names of the columns that name the word, by what they say."""
    known = {
        key: [name for name in names if name.lower() in called] for key, called in _KEYS.items()
    }
    sentences, words = known["sent_id"], known["word"]
    if sentences and words:
        raise word_file.error(
            f" has {sentences[0]} and {words[0]}, which both name words",
            "Rename one: word holds ids of the table word; a form that is to be checked is form.",
        )
    used = ("word", "form") if words else ("sent_id", "index", "document", "form")
    if not words and not (sentences and known["index"]):
        raise word_file.error(
            f" does not name words: no column {'index' if sentences else 'sent_id'}",
            "Give it the columns sent_id and index, or word (word.id)."
            f" It has: {join_names(names)}.",
        )
    for key in used:
        if len(known[key]) > 1:
            fact = f" has {' and '.join(known[key])}, each of which may be the {key}"
            raise word_file.error(fact, "Rename those that are not.")
    return {key: known[key][0] for key in used if known[key]}


def _stage(connection: DuckDBPyConnection, word_file: _WordFile) -> int:
    """Read a file into the temporary table _ROWS, and return how many rows it has.

    It has `n`, the number of the row, the text that names the word (`sent_id`, `document`,
    `word_number`, `form`; null where the file has no such column), and the others as `c1` and so
    on. Raises WordFileError if some line cannot be read, or if there are no rows or too many.
    """
    keys, columns = word_file.keys, word_file.columns
    types = {**dict.fromkeys(keys.values(), "VARCHAR"), **columns}
    column_types = ", ".join(
        f"{literal(name)}: {literal(types[name])}" for name in word_file.names or types
    )
    options = {
        "parquet": "",
        "json": f", columns = {{{column_types}}}",
        "csv": f", columns = {{{column_types}}}, auto_detect = false, store_rejects = true,"
        " rejects_limit = 1",
    }
    source = f"read_{word_file.reader}({word_file.arguments}{options[word_file.reader]})"
    if word_file.reader == "parquet":  # a few bytes can stand for billions of rows
        _check_rows(word_file, connection.execute(f"select count(*) from {source}"))
    texts = {"word_number": keys.get("word") or keys["index"]}
    texts |= {key: keys.get(key, "") for key in ("sent_id", "document", "form")}
    selected = [
        f"cast({quoted(name) if name else 'null'} as varchar) as {text}"
        for text, name in texts.items()
    ]
    selected += [
        f"cast({quoted(name)} as {type_}) as c{number}"
        for number, (name, type_) in enumerate(columns.items(), 1)
    ]
    connection.execute(
        f"create or replace temp table {_ROWS} as select row_number() over () as n,"
        f" {', '.join(selected)} from {source} limit {_MOST_ROWS + 1}"
    )
    if word_file.reader == "csv":
        rejects = "select line, error_type from reject_errors order by line, column_idx limit 1"
        for line, kind in connection.execute(rejects).fetchall():
            raise word_file.error(f":{line} cannot be read: {_REASONS.get(kind, kind.lower())}")
    return _check_rows(word_file, connection.execute(f"select count(*) from {_ROWS}"))


def _check_rows(word_file: _WordFile, counted: DuckDBPyConnection) -> int:
    ((rows,),) = counted.fetchall()
    if not rows:
        raise word_file.error(" has no rows", "Give a file with rows about words.")
    if rows > _MOST_ROWS:
        fact = f" has more than {_MOST_ROWS:,} rows"
        raise word_file.error(fact, "Divide it into several tables.")
    return int(rows)


def _table_name_of_file(word_file: _WordFile) -> str:
    """Return the name of a table for a file: reading_times for reading-times.csv."""
    stem = re.sub(r"[^A-Za-z0-9]+", "_", word_file.stem).strip("_")
    if not stem:
        raise CallError(
            f"The file name {word_file.typed} gives no name for the table.", "Name it: --name TABLE"
        )
    return (stem if stem[0].isalpha() else f"words_{stem}")[:63]


def _check_free(connection: DuckDBPyConnection, name: str, *, replace: bool) -> None:
    """Raise CallError for a name that is used by the bank, by SQL or by the user.

    With `replace`, a table of the user may have it, but not a view or macro.
    """
    used = dict(connection.execute(registry.internal_statement("annotate/used_names")).fetchall())
    used |= dict.fromkeys(registry.analyses(), "an analysis")
    used |= dict.fromkeys(bank_format.columns_of_this_format(), "a table of every bank")
    used |= dict.fromkeys((_ROWS, _WORDS), "a table that attnbank makes for itself")
    kind = {used_name.lower(): kind for used_name, kind in used.items()}.get(name.lower())
    if kind == "a table of yours":
        if not replace:
            raise CallError(
                f"The bank already has a table {name}.",
                "Name another one (--name TABLE), or replace that one (--replace).",
            )
    elif kind is not None:
        raise CallError(
            f"A table cannot be called {name}: that is {kind}.", "Name another one: --name TABLE"
        )


def _match_words(
    connection: DuckDBPyConnection,
    word_file: _WordFile,
    corpus: int | None,
    rows: int,
    *,
    skip_bad: bool,
) -> dict[str, int]:
    """Find the word of each row, into a temporary table; return counts of bad rows by reason."""
    connection.execute(
        registry.internal_statement("annotate/match_words"),
        {
            "corpus": corpus,
            "by_document": "document" in word_file.keys,
            "by_id": "word" in word_file.keys,
            "by_form": "form" in word_file.keys,
        },
    )
    where = "the bank" if "word" in word_file.keys else "its sentence"
    reasons = {
        "sentence": "with a sentence that the bank does not have",
        "sentences": "with a name that several sentences have",
        "word": f"with a word that {where} does not have",
        "form": "with another form than the text",
    }
    faults = connection.execute(registry.internal_statement("annotate/unmatched_rows")).fetchall()
    bad_rows, descriptions = {}, []
    for fault, count, n, sent_id, document, number, form, known in faults:
        bad_rows[reasons[fault]] = count
        values = {"sent_id": sent_id, "index": number, "document": document, "word": number}
        parts = [
            f"{name} {_shorten_value(values[key])}"
            for key, name in word_file.keys.items()
            if key != "form"
        ]
        if fault == "form":
            parts.append(f"{word_file.keys['form']} {_shorten_value(form)!r}")
            parts.append(f"in the text {_shorten_value(known)!r}")
        descriptions.append(f"{count:,} {reasons[fault]} (row {n:,}: {', '.join(parts)})")
    bad = sum(bad_rows.values())
    if bad and (not skip_bad or bad == rows):
        raise WordFileError(
            f"{bad:,} of {rows:,} rows of {word_file.typed} do not match the bank:"
            f" {'; '.join(descriptions)}.",
            _remedy({fault for fault, *_ in faults}, word_file, corpus, is_all=bad == rows),
        )
    return bad_rows


def _shorten_value(value: str | None) -> str:
    if value is None:
        return "empty"
    return escape_control(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")


def _remedy(faults: set[str], word_file: _WordFile, corpus: int | None, *, is_all: bool) -> str:
    if is_all and "sentences" not in faults:
        columns = "id, form from word" if "word" in word_file.keys else "name from sentence"
        return f"Look at what the bank has: attnbank sql 'select {columns} limit 5'"
    ways = ["correct them"]
    if "sentences" in faults:
        ways = ["name the corpus (--corpus NAME)"] if corpus is None else []
        if "document" not in word_file.keys:
            ways.append("add the document of each (column document)")
        ways.append("name words by their ids (column word)")
    if not is_all:
        ways.append("leave these rows out with --skip-bad")
    advice = ", or ".join(ways)
    return f"{advice[0].upper()}{advice[1:]}."


def _write_annotations(connection: DuckDBPyConnection, table: str, word_file: _WordFile) -> None:
    qualified = qualified_name("main", table)
    column_definitions = "".join(
        f", {quoted(name)} {type_}" for name, type_ in word_file.columns.items()
    )
    connection.execute(f"create table {qualified} (word bigint not null{column_definitions})")
    columns = "".join(f", {_ROWS}.c{number}" for number in range(1, len(word_file.columns) + 1))
    connection.execute(
        f"insert into {qualified} select {_WORDS}.word{columns}"
        f" from {_ROWS} inner join {_WORDS} on {_WORDS}.n = {_ROWS}.n"
        f" where {_WORDS}.fault is null order by {_WORDS}.word, {_WORDS}.n"
    )
    comment = f"From {Path(word_file.typed).name}, by attnbank annotate."
    connection.execute(f"comment on table {qualified} is {literal(escape_control(comment))}")
    connection.execute(f"comment on column {qualified}.word is 'word.id of the word.'")


def _find_references(
    connection: DuckDBPyConnection, table: str, word_file: _WordFile
) -> tuple[str, ...]:
    """Return the columns that refer to rows of the bank by their names.

    Raises WordFileError if some value does not: deleting and merging rely on these names.
    """
    table_key = ("main", table)
    known = [
        reference
        for reference in table_references(connection)
        if (reference.schema, reference.table) == table_key
    ]
    known += [
        TableReference(*table_key, name, "word", by_name=False)
        for name, type_ in word_file.columns.items()
        if name in OF_WORDS and type_.endswith(("INT", "INTEGER"))
    ]
    for reference in known:
        rows = connection.execute(
            f"select cast({quoted(reference.column)} as varchar) from {reference.qualified_table}"
            f" where {quoted(reference.column)} is not null"
            f" and not ({reference.condition('true')}) limit 1"
        ).fetchall()
        if rows:
            raise WordFileError(
                f"The column {reference.column} of {word_file.typed} has"
                f" {_shorten_value(rows[0][0])}, and the bank has no such {reference.target}:"
                " a column of this name must refer to one.",
                "Give it another name.",
            )
    return tuple(reference.column for reference in known if reference.column != "word")
