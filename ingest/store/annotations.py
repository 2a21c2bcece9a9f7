"""Annotates words with columns of a file, as a table that joins with `word`.

The table has a column `word`, which is word.id. As for every table of a user with a column of this
name (`sql.bank.references`), its rows are deleted with their corpus, and get new ids in a merge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from attnbank.ingest.store import word_files
from attnbank.ingest.store.word_files import ROWS, WordFile, WordFileError
from attnbank.ingest.store.writer import open_for_changes
from attnbank.sql import registry
from attnbank.sql.bank import upgrading
from attnbank.sql.bank.connections import transaction
from attnbank.sql.bank.references import TableReference, table_references
from attnbank.sql.errors import CallError
from attnbank.sql.messages import escape_control
from attnbank.sql.quoting import literal, qualified_name, quoted
from attnbank.sql.run_choice import find_corpus

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
_NAME_REMEDY = "Use up to 63 letters, digits and _, starting with a letter (--name TABLE)."
_WORDS = "annotated_word"
# Enough for a file of any size: DuckDB spills to a temporary file beside the bank.
_SETTINGS = {"memory_limit": "1GB", "threads": "2"}
_LONGEST = 60  # characters of a value in a message


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
    word_file = word_files.find(file)
    table = _table_name_of_file(word_file) if name is None else name
    _check_name(table)
    reads = (word_file.path,)
    with open_for_changes(Path(bank), "nothing was kept", _SETTINGS, reads=reads) as connection:
        _check_free(connection, table, replace=replace)
        number = None if corpus is None else find_corpus(connection, bank, corpus)[0]
        word_file = word_files.describe(connection, word_file)
        rows = word_files.stage(connection, word_file)
        left_out = _match_words(connection, word_file, number, rows, skip_bad=skip_bad)
        with transaction(connection):
            connection.execute(f"drop table if exists {qualified_name('main', table)}")
            _write_annotations(connection, table, word_file)
            refers = _find_references(connection, table, word_file)
        annotated = _count_annotated(connection, table, word_file, left_out, refers)
    return annotated


def _table_name_of_file(word_file: WordFile) -> str:
    """Return the name of a table for a file: reading_times for reading-times.csv."""
    stem = re.sub(r"[^A-Za-z0-9]+", "_", word_file.stem).strip("_")
    if not stem:
        raise CallError(
            f"The file name {word_file.shown} gives no name for the table.", "Name it: --name TABLE"
        )
    return (stem if stem[0].isalpha() else f"words_{stem}")[:63]


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise CallError(f"A table cannot be called {name}.", _NAME_REMEDY)


def _check_free(connection: DuckDBPyConnection, name: str, *, replace: bool) -> None:
    """Raise CallError for a name that is used by the bank, by SQL or by the user.

    With `replace`, a table of the user may have it, but not a view or macro.
    """
    used = dict(connection.execute(registry.internal_statement("annotate/used_names")).fetchall())
    used |= dict.fromkeys(registry.analyses(), "an analysis")
    used |= dict.fromkeys(upgrading.columns_of_this_format(), "a table of every bank")
    used |= dict.fromkeys((ROWS, _WORDS), "a table that attnbank makes for itself")
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
    word_file: WordFile,
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
    faults = connection.execute(registry.internal_statement("annotate/unmatched_rows")).fetchall()
    bad_rows = {_reason(fault, word_file): count for fault, count, *_ in faults}
    bad = sum(bad_rows.values())
    if bad and (not skip_bad or bad == rows):
        reasons = "; ".join(
            f"{count:,} {_reason(fault, word_file)}"
            f" (row {n:,}: {_describe_row(word_file, fault, values)})"
            for fault, count, n, *values in faults
        )
        raise WordFileError(
            f"{bad:,} of {rows:,} rows of {word_file.shown} do not match the bank: {reasons}.",
            _remedy({fault for fault, *_ in faults}, word_file, corpus, is_all=bad == rows),
        )
    return bad_rows


def _reason(fault: str, word_file: WordFile) -> str:
    """Return why rows are bad, as it follows their number."""
    where = "the bank" if "word" in word_file.keys else "its sentence"
    return {
        "sentence": "with a sentence that the bank does not have",
        "sentences": "with a name that several sentences have",
        "word": f"with a word that {where} does not have",
        "form": "with another form than the text",
    }[fault]


def _describe_row(word_file: WordFile, fault: str, values: list[str | None]) -> str:
    """Return the key of a row, and its form with that of the text if they differ."""
    row_values = dict(zip(("sent_id", "document", "number", "form", "known"), values, strict=True))
    key_values = {
        key: row_values["number" if key in ("index", "word") else key] for key in word_file.keys
    }
    parts = [
        f"{word_file.keys[key]} {_shorten_value(value)}"
        for key, value in key_values.items()
        if key != "form"
    ]
    if fault == "form":
        parts.append(f"{word_file.keys['form']} {_shorten_value(row_values['form'])!r}")
        parts.append(f"in the text {_shorten_value(row_values['known'])!r}")
    return ", ".join(parts)


def _shorten_value(value: str | None) -> str:
    if value is None:
        return "empty"
    return escape_control(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")


def _remedy(faults: set[str], word_file: WordFile, corpus: int | None, *, is_all: bool) -> str:
    if is_all and "sentences" not in faults:
        columns = "id, form from word" if "word" in word_file.keys else "name from sentence"
        return f"Look at what the bank has: attnbank sql 'select {columns} limit 5'"
    ways = ["correct them"]
    if "sentences" in faults:
        ways = ["name the corpus (--corpus NAME)"] if corpus is None else []
        ways += (
            [] if "document" in word_file.keys else ["add the document of each (column document)"]
        )
        ways += ["name words by their ids (column word)"]
    if not is_all:
        ways.append("leave these rows out with --skip-bad")
    advice = ", or ".join(ways)
    return f"{advice[0].upper()}{advice[1:]}."


def _write_annotations(connection: DuckDBPyConnection, table: str, word_file: WordFile) -> None:
    qualified = qualified_name("main", table)
    column_definitions = "".join(
        f", {quoted(name)} {type_}" for name, type_ in word_file.columns.items()
    )
    connection.execute(f"create table {qualified} (word integer not null{column_definitions})")
    columns = "".join(f", {ROWS}.c{number}" for number in range(1, len(word_file.columns) + 1))
    connection.execute(
        f"insert into {qualified} select {_WORDS}.word{columns}"
        f" from {ROWS} inner join {_WORDS} on {_WORDS}.n = {ROWS}.n"
        f" where {_WORDS}.fault is null order by {_WORDS}.word, {_WORDS}.n"
    )
    comment = f"From {Path(word_file.shown).name}, by attnbank annotate."
    connection.execute(f"comment on table {qualified} is {literal(escape_control(comment))}")
    connection.execute(f"comment on column {qualified}.word is 'word.id of the word.'")


def _find_references(
    connection: DuckDBPyConnection, table: str, word_file: WordFile
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
        if name in ("first_word", "last_word", "head_word") and type_.endswith(("INT", "INTEGER"))
    ]
    for reference in known:
        rows = connection.execute(
            f"select cast({quoted(reference.column)} as varchar) from {reference.qualified_table}"
            f" where {quoted(reference.column)} is not null"
            f" and not ({reference.condition('true')}) limit 1"
        ).fetchall()
        if rows:
            raise WordFileError(
                f"The column {reference.column} of {word_file.shown} has"
                f" {_shorten_value(rows[0][0])}, and the bank has no such {reference.target}:"
                " a column of this name must refer to one.",
                "Give it another name.",
            )
    return tuple(reference.column for reference in known if reference.column != "word")


def _count_annotated(
    connection: DuckDBPyConnection,
    table: str,
    word_file: WordFile,
    left_out: Mapping[str, int],
    refers: tuple[str, ...],
) -> Annotated:
    ((rows, words, repeated, most),) = connection.execute(
        "select coalesce(sum(n), 0), count(*), count(*) filter (where n > 1), coalesce(max(n), 0)"
        f" from (select count(*) as n from {qualified_name('main', table)} group by word)"
    ).fetchall()
    return Annotated(
        table, int(rows), words, dict(word_file.columns), repeated, most, dict(left_out), refers
    )
