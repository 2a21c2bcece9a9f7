"""Bringing a bank up to date that has an earlier format, or another version's analyses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql import registry
from attnbank.sql.bank import formats
from attnbank.sql.bank.explaining import explain, explained
from attnbank.sql.bank.log import check_log
from attnbank.sql.bank.making import connect
from attnbank.sql.bank.opening import existing, reinstall
from attnbank.sql.bank.room import close_tidily, remove_leftover
from attnbank.sql.errors import BankError
from attnbank.sql.quoting import literal, place, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class Upgrade:
    """What an upgrade did.

    `before` and `after` are formats; `added` names the tables that were added, and the columns as
    `table.column`; `analyses` says whether the analyses of another version were replaced.
    """

    before: int
    after: int
    added: tuple[str, ...]
    analyses: bool

    @property
    def changed(self) -> bool:
        """Whether there was anything to do."""
        return self.before != self.after or bool(self.added) or self.analyses


def upgrade(path: str | Path) -> Upgrade:
    """Bring a bank up to this version's format and analyses, in one transaction.

    Each step runs `sql/schema/migrations/N.sql`. Then everything that a new bank has and this one
    lacks is added, since some banks are older than their number says, and a table attention_map
    that is new is filled from attention. Only the steps change rows.

    Raises BankError if the file is missing, is no bank, has a newer format, is held by another
    process, or cannot be upgraded. Then the bank is as it was before; so it is if the process is
    killed.
    """
    import duckdb

    path, at = Path(path), existing(path)
    connection = connect(at, {"max_vacuum_tasks": "0"}, path)
    try:
        check_log(at)
        remove_leftover(at)
        before, _ = formats.written_in(connection, path, formats.types_of(connection))
        if before > registry.FORMAT:
            raise formats.newer(path, before)
        connection.execute("begin")
        done = _bring_up(connection, path, before)
        connection.execute("commit" if done.changed else "rollback")
    except duckdb.Error as error:
        connection.close()
        raise explain(
            error, path, "the bank is as it was", "type the same command again"
        ) from error
    except BaseException:
        connection.close()
        raise
    with explained(path, "the bank is upgraded", "type the same command again"):
        close_tidily(connection, path)
    return done


def _bring_up(connection: DuckDBPyConnection, path: Path, before: int) -> Upgrade:
    """Run the steps, add what is missing, and reinstall the analyses; the caller commits."""
    found = formats.tables(connection)
    for step in range(before + 1, registry.FORMAT + 1):
        for statement in connection.extract_statements(registry.migration(step)):
            connection.execute(statement)
    expected = formats.tables_of_this_format()
    _complete(connection, path, expected)
    now = formats.tables(connection)
    had_these_analyses = formats.installed(connection) == formats.fingerprint()
    if not had_these_analyses or now != found:
        reinstall(connection)
    if "attention_map" not in found:
        connection.execute(
            f"insert into attention_map by name {registry.statement('attention_maps')}"
        )
    connection.execute("update bank set format = ?", [registry.FORMAT])
    added = [
        name if name not in found else f"{name}.{column}"
        for name, table in now.items()
        for column in (table.columns if name in found else ("",))
        if name not in found or column not in found[name].columns
    ]
    return Upgrade(before, registry.FORMAT, tuple(added), not had_these_analyses)


def _complete(
    connection: DuckDBPyConnection, path: Path, expected: dict[str, formats.Table]
) -> None:
    """Add the tables, columns and comments that the schema has and the file lacks.

    Raises BankError if a column has another type than in the schema.
    """
    found = formats.tables(connection)
    for name, table in expected.items():
        if name not in found:
            connection.execute(table.statement)
        own = found[name].columns if name in found else table.columns
        for each, column in table.columns.items():
            added = f"{quoted(name)} add column {quoted(each)} {column.type}"
            if each not in own:
                default = "" if column.default is None else f" default {column.default}"
                connection.execute(f"alter table {added}{default}")
                if not column.is_nullable and _is_filled(connection, name, each):
                    connection.execute(
                        f"alter table {quoted(name)} alter column {quoted(each)} set not null"
                    )
            elif own[each].type != column.type:
                raise BankError(
                    f"{path} cannot be upgraded: {name}.{each} is {own[each].type}, and"
                    f" {column.type} in this version.",
                    "It is as it was; ingest again into a new file.",
                )
    _comment(connection, expected)


def _is_filled(connection: DuckDBPyConnection, table: str, column: str) -> bool:
    found = connection.execute(
        f"select count(*) from {quoted(table)} where {quoted(column)} is null"
    )
    return found.fetchall() == [(0,)]


def _comment(connection: DuckDBPyConnection, expected: dict[str, formats.Table]) -> None:
    """Give every table and column of the schema the comment that it has in a new bank."""
    now = formats.tables(connection)
    for name, table in expected.items():
        if now[name].comment != table.comment:
            connection.execute(f"comment on table {quoted(name)} is {literal(table.comment)}")
        for each, column in table.columns.items():
            if now[name].columns[each].comment != column.comment:
                connection.execute(
                    f"comment on column {place(name, each)} is {literal(column.comment)}"
                )
