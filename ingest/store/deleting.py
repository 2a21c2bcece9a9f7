"""Deletes runs, corpora and models from a bank, with all that refers to them; sets its default run.

A column of a table, of a user's own too, refers to a table that has the same name and a column `id`
(`run`, `sequence`, `probe`, ...), and a column whose name ends in `_run` (`train_run`) to `run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from duckdb import DuckDBPyConnection

from attnbank.ingest.store.writer import next_ids, open_for_changes
from attnbank.sql.bank.connections import transaction
from attnbank.sql.bank.opening import existing, open_to_read
from attnbank.sql.errors import CallError
from attnbank.sql.messages import unknown_name
from attnbank.sql.names import qualified_name, quoted
from attnbank.sql.run_choice import find_run

_DEFAULT_UNCHANGED = "the default run is unchanged"


@dataclass(frozen=True)
class Deletion:
    """What is or would be deleted: names, rows per table, and the bytes `freed` in the file.

    `probes` describe the deleted probes; `unused` are kind and name of the corpora and models that
    no run uses any more.
    """

    runs: tuple[str, ...]
    corpora: tuple[str, ...]
    models: tuple[str, ...]
    probes: tuple[str, ...]
    rows: dict[str, int]
    unused: tuple[tuple[str, str], ...] = ()
    freed: int = 0


def delete(
    bank: Path,
    runs: Sequence[str] = (),
    corpora: Sequence[str] = (),
    models: Sequence[str] = (),
    *,
    dry_run: bool = False,
) -> Deletion:
    """Delete runs, and corpora and models that no other run uses, in one transaction.

    Each is given by its name or id. All rows that refer to a run are deleted, also those of tables
    of the user with a column `run` or `sequence`. Ids are not used again. With `dry_run` nothing is
    deleted, and the bank is only read.

    Raises CallError for an unknown or ambiguous name, and for a corpus or model that another run
    uses; BankError if the bank cannot be opened or written.
    """
    named = {"run": runs, "corpus": corpora, "model": models}
    if dry_run:
        with open_to_read(bank) as connection:
            return _count_rows(connection, _find_ids(connection, bank, named))
    file = existing(bank)
    before = file.stat().st_size
    settings = {"memory_limit": "1GB"}
    with open_for_changes(bank, "nothing was deleted", settings, has_deleted=True) as connection:
        ids = _find_ids(connection, bank, named)
        deletion = _count_rows(connection, ids)
        with transaction(connection):
            for target, numbers in ids.items():
                delete_rows(connection, target, numbers)
        unused = _unused_names(connection)
    return replace(deletion, unused=unused, freed=before - file.stat().st_size)


def delete_run(connection: DuckDBPyConnection, run: int) -> Deletion:
    """Delete a run and all rows that refer to it, in a transaction."""
    deletion = _count_rows(connection, {"run": [run]})
    with transaction(connection):
        delete_rows(connection, "run", [run])
    connection.execute("checkpoint")
    return deletion


def delete_rows(connection: DuckDBPyConnection, target: str, ids: Sequence[int]) -> None:
    """Delete rows by id, and all rows that refer to them, in the caller's transaction."""
    # The last id of each kind, so that ids are not used again.
    connection.executemany(
        "insert or replace into used_id (kind, last) values (?, ?)",
        [[kind, following - 1] for kind, following in next_ids(connection).items()],
    )
    for table, _, condition in _deletions(table_references(connection), target, _id_condition(ids)):
        connection.execute(f"delete from {table} where {condition}")


def set_default_run(bank: Path, run: str | int) -> str:
    """Set the default run for its context and unit, and return its name.

    Raises CallError if there is no such run, or it is unfinished or random; BankError if the bank
    cannot be written.
    """
    with open_for_changes(bank, _DEFAULT_UNCHANGED) as connection:
        number, name = find_run(connection, bank, run)
        ((reason,),) = connection.execute(
            "select not_default_because from run_candidate() where id = ?", [number]
        ).fetchall()
        if reason is not None:
            raise CallError(
                f"The run {name} cannot be the default run: {reason}.",
                "Name it in each query instead: --run, or run := in SQL.",
            )
        with transaction(connection):
            connection.execute(
                "delete from preferred_run where run in ("
                " select other.id from run as other inner join run as new"
                " on new.context = other.context and new.unit = other.unit where new.id = ?)",
                [number],
            )
            connection.execute("insert into preferred_run values (?)", [number])
    return name


def unset_default_runs(bank: Path) -> None:
    """Unset the default runs: the newest suitable run is the default again. Raises BankError."""
    with open_for_changes(bank, _DEFAULT_UNCHANGED) as connection, transaction(connection):
        connection.execute("delete from preferred_run")


@dataclass(frozen=True)
class TableReference:
    """A column that refers to rows of the table `target`: by id, or (`by_name`) by name or id."""

    schema: str
    table: str
    column: str
    target: str
    by_name: bool

    @property
    def qualified_table(self) -> str:
        """The table that has the column, quoted for SQL."""
        return qualified_name(self.schema, self.table)

    @property
    def label(self) -> str:
        """The table that has the column, as people read it."""
        return self.table if self.schema == "main" else f"{self.schema}.{self.table}"

    def condition(self, of_target: str) -> str:
        """SQL for the rows that refer to a target row for which the SQL `of_target` is true."""
        target = qualified_name("main", self.target)
        ids = f"select id from {target} where {of_target}"
        column = quoted(self.column)
        if not self.by_name:
            return f"{column} in ({ids})"
        names = f"select name from {target} where {of_target}"
        return f"{column} in (select cast(id as varchar) from ({ids}) union all {names})"


def table_references(connection: DuckDBPyConnection) -> list[TableReference]:
    """Every reference between tables of the bank."""
    columns = connection.execute(
        "select duckdb_columns.schema_name, duckdb_columns.table_name, column_name, data_type"
        " from duckdb_columns() inner join duckdb_tables() using (table_oid, database_name)"
        " where database_name = current_database() and not duckdb_tables.temporary"
        " and not duckdb_tables.internal order by table_oid, column_index"
    ).fetchall()
    targets = {table for schema, table, name, _ in columns if (schema, name) == ("main", "id")}
    references = []
    for schema, table, name, type_ in columns:
        target = "run" if name.endswith("_run") else name
        by_name = type_ == "VARCHAR" and target == "run"
        if target in targets and (type_.endswith("INT") or type_ == "INTEGER" or by_name):
            references.append(TableReference(schema, table, name, target, by_name))
    return references


def _id_condition(ids: Sequence[int], column: str = "id") -> str:
    return f"{column} in ({', '.join(map(str, ids)) or 'null'})"


def _deletions(
    known: list[TableReference], target: str, condition: str, above: tuple[str, ...] = ()
) -> list[tuple[str, str, str]]:
    """Return table, label and condition of some rows of a table and all rows that refer to them.

    Rows come after those that refer to them, so that they can be deleted in this order.
    """
    deletions = []
    for reference in known:
        # References may form a cycle: `above` are the tables on the way here.
        if reference.target != target or reference.table in (*above, target):
            continue
        own_condition = reference.condition(condition)
        if (
            any(further.target == reference.table for further in known)
            and reference.schema == "main"
        ):
            deletions += _deletions(known, reference.table, own_condition, (*above, target))
        else:
            deletions.append((reference.qualified_table, reference.label, own_condition))
    return [*deletions, (f"main.{quoted(target)}", target, condition)]


def _find_ids(
    connection: DuckDBPyConnection, bank: Path, named: Mapping[str, Sequence[str]]
) -> dict[str, list[int]]:
    ids = {
        kind: _find_rows(connection, bank, kind, names) for kind, names in named.items() if names
    }
    for kind in ("corpus", "model"):
        for number in ids.get(kind, []):
            _check_unused(connection, kind, number, ids.get("run", []))
    return ids


def _find_rows(
    connection: DuckDBPyConnection, bank: Path, kind: str, named: Sequence[str]
) -> list[int]:
    """Return the ids of the runs, corpora or models with these names or ids, each once."""
    rows = connection.execute(f"select id, name from {kind} order by id").fetchall()
    ids: dict[int, None] = {}
    for text in named:
        same = [id for id, name in rows if name == text] or [
            id for id, _ in rows if str(id) == text
        ]
        if not same:
            raise unknown_name(kind, text, bank, [name for _, name in rows])
        if len(same) > 1:  # models may share a name, as different revisions do
            raise CallError(
                f"{len(same)} {kind}s are called {text}.",
                f"Give an id: {', '.join(map(str, same))}.",
            )
        ids[same[0]] = None
    return list(ids)


def _check_unused(connection: DuckDBPyConnection, kind: str, number: int, gone: list[int]) -> None:
    rows = connection.execute(
        f"select run.id, run.name, {kind}.name from run inner join {kind} on {kind}.id = run.{kind}"
        f" where run.{kind} = ? order by run.id",
        [number],
    ).fetchall()
    users = [(run, name) for run, name, _ in rows if run not in gone]
    if users:
        are = f"{len(users)} runs use" if len(users) > 1 else "a run uses"
        raise CallError(
            f"The {kind} {rows[0][2]} cannot be deleted: {are} it:"
            f" {', '.join(name for _, name in users)}.",
            f"Delete them too: attnbank delete {' '.join(str(run) for run, _ in users)}"
            f" --{kind} {number}",
        )


def _count_rows(connection: DuckDBPyConnection, ids: dict[str, list[int]]) -> Deletion:
    known = table_references(connection)
    rows: dict[str, int] = {}
    conditions: dict[tuple[str, str], list[str]] = {}
    for target, numbers in ids.items():
        for table, label, condition in _deletions(known, target, _id_condition(numbers)):
            conditions.setdefault((table, label), []).append(f"({condition})")
    for (table, label), alternatives in conditions.items():
        counted = f"select count(*) from {table} where {' or '.join(alternatives)}"
        ((count,),) = connection.execute(counted).fetchall()
        if count:
            rows[label] = count
    names = {}
    for kind in ("run", "corpus", "model"):
        named = f"select name from {kind} where {_id_condition(ids.get(kind, []))} order by id"
        names[kind] = tuple(name for (name,) in connection.execute(named).fetchall())
    probes = _probes_of_runs(connection, ids.get("run", []))
    return Deletion(names["run"], names["corpus"], names["model"], probes, rows)


def _probes_of_runs(connection: DuckDBPyConnection, runs: list[int]) -> tuple[str, ...]:
    rows = connection.execute(
        "select probe.id, probe.kind, train.name, test.name from probe"
        " left join run as train on train.id = probe.train_run"
        " left join run as test on test.id = probe.test_run"
        f" where {_id_condition(runs, 'probe.train_run')}"
        f" or {_id_condition(runs, 'probe.test_run')}"
        " order by probe.id"
    ).fetchall()
    return tuple(
        f"{number} ({kind}{f', learnt from {train}' if train else ''}, scored on {test})"
        for number, kind, train, test in rows
    )


def _unused_names(connection: DuckDBPyConnection) -> tuple[tuple[str, str], ...]:
    """Return kind and name of each corpus and model without a run; the id for an ambiguous name."""
    return tuple(
        connection.execute(
            "select 'corpus', corpus.name from corpus"
            " where corpus.id not in (select run.corpus from run)"
            " union all select 'model', case when alike.n > 1 then cast(model.id as varchar)"
            " else model.name end from model"
            " inner join (select name, count(*) as n from model group by name) as alike"
            " on alike.name = model.name"
            " where model.id not in (select run.model from run) order by 1, 2"
        ).fetchall()
    )
