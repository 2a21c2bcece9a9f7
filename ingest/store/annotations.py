"""Columns of the user's own for each word: a file becomes a table that joins with `word`.

The table has a column `word`, which is word.id, so that it goes with its corpus when that is
deleted, and gets new ids where banks are merged, as every table of a user does whose column is
called so (`sql.bank.references`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from attnbank.ingest.store import word_files
from attnbank.ingest.store.word_files import ROWS, WordFile, WordFileError
from attnbank.ingest.store.writer import changing
from attnbank.sql import registry
from attnbank.sql.bank import upgrading
from attnbank.sql.bank.connections import transaction
from attnbank.sql.bank.references import TableReference, table_references
from attnbank.sql.errors import CallError
from attnbank.sql.id_map import KIND_OF
from attnbank.sql.quoting import literal, qualified_name, quoted
from attnbank.sql.run_choice import find_corpus
from attnbank.sql.suggest import escape_control

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
_PLAIN = "Use up to 63 letters, digits and _, a letter first (--name TABLE)."
_WORDS = "annotated_word"
_SETTINGS = {"memory_limit": "1GB", "threads": "2"}
"""What a file may take, however large it is: the rest goes to a temporary file beside the bank."""
_LONGEST = 60
"""Characters of a value that a message shows."""


@dataclass(frozen=True)
class Annotated:
    """A table of the user's own: its name, its rows, the words that have one, its other columns.

    `columns` are their types. `repeated` words have several rows, up to `most`. `left_out` counts
    the rows of the file that are not in the table, by the reason; `references` are the columns
    whose values are ids or names of the bank's.
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
    """Keep the columns of a file with rows about words as a table of the user's own in a bank.

    The file (CSV, TSV, Parquet, JSON) names each word by `sent_id` and `index`, within a `document`
    if it says so, or by `word` (word.id); `form` is checked against the text. The other columns
    become those of the table `name`, by default that of the file. `corpus` is the one whose
    sentences are meant. With `replace` a table of the user's that has the name is replaced; with
    `skip_bad` rows that name no word are left out.

    Raises CallError for a name or a corpus that cannot be, and a file that cannot be opened;
    WordFileError for one that cannot be read, or whose rows do not fit the bank; BankError where
    the bank cannot be written. Then the bank is unchanged.
    """
    word_file = word_files.find(file)
    table = _table_name_of_file(word_file) if name is None else name
    _check_name(table)
    reads = (word_file.path,)
    with changing(Path(bank), "nothing was kept", _SETTINGS, reads=reads) as connection:
        _check_free(connection, table, replace=replace)
        number = None if corpus is None else find_corpus(connection, bank, corpus)[0]
        word_file = word_files.describe(connection, word_file)
        rows = word_files.stage(connection, word_file)
        left_out = _match_words(connection, word_file, number, rows, skip_bad=skip_bad)
        with transaction(connection):
            connection.execute(f"drop table if exists {qualified_name('main', table)}")
            _write_annotations(connection, table, word_file)
            refers = _references(connection, table, word_file)
        annotated = _count_annotated(connection, table, word_file, left_out, refers)
    return annotated


def _table_name_of_file(word_file: WordFile) -> str:
    """The name of a file as that of a table: reading-times.csv is reading_times."""
    stem = re.sub(r"[^A-Za-z0-9]+", "_", word_file.stem).strip("_")
    if not stem:
        raise CallError(
            f"A table cannot be named after {word_file.shown}.", "Name it: --name TABLE"
        )
    return (stem if stem[0].isalpha() else f"words_{stem}")[:63]


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise CallError(f"A table cannot be called {name}.", _PLAIN)


def _check_free(connection: DuckDBPyConnection, name: str, *, replace: bool) -> None:
    """Raise CallError for a name that the bank or SQL uses, or (without `replace`) a user's table.

    A user's own view or macro is never replaced.
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
    """Find the word of each row, in a temporary table; how many rows have none, by the reason."""
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
        parts = [
            (count, f"{_reason(fault, word_file)} (row {n:,}: {_row(word_file, fault, values)})")
            for fault, count, n, *values in faults
        ]
        are = f"are {parts[0][1]}"
        if len(parts) > 1:
            are = f"do not fit: {'; '.join(f'{count:,} {part}' for count, part in parts)}"
        raise WordFileError(
            f"{bad:,} of {rows:,} rows of {word_file.shown} {are}.",
            _remedy({fault for fault, *_ in faults}, word_file, corpus, is_all=bad == rows),
        )
    return bad_rows


def _reason(fault: str, word_file: WordFile) -> str:
    """What is wrong with rows, as it follows their number."""
    where = "the bank" if "word" in word_file.keys else "its sentence"
    return {
        "sentence": "of no sentence of the bank",
        "sentences": "of several sentences with one name",
        "word": f"of no word of {where}",
        "form": "of another form than the text has",
    }[fault]


def _row(word_file: WordFile, fault: str, values: list[str | None]) -> str:
    """What a row says, beside what stands in the text."""
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


def _references(connection: DuckDBPyConnection, table: str, word_file: WordFile) -> tuple[str, ...]:
    """The columns whose names say that they refer to rows of the bank. Raises WordFileError.

    Deleting and merging go by these names, so what stands there must be what it is taken for.
    """
    table_key = ("main", table)
    known = [
        reference
        for reference in table_references(connection)
        if (reference.schema, reference.table) == table_key
    ]
    known += [
        TableReference(*table_key, name, KIND_OF[name], by_name=False)
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
                " a column of this name refers to one.",
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
