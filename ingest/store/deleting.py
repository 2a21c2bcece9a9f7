"""Taking runs, corpora and models out of a bank, with everything that hangs on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.ingest.store.corpus_rows import next_ids
from attnbank.sql import provenance
from attnbank.sql.bank.opening import existing, explain, open_to_read, open_to_write
from attnbank.sql.bank.references import Reference, references
from attnbank.sql.bank.room import close_tidily
from attnbank.sql.bank.transactions import transaction
from attnbank.sql.errors import CallError
from attnbank.sql.quoting import quoted


@dataclass(frozen=True)
class Deletion:
    """What goes, or is gone.

    `runs`, `corpora` and `models` are names; `probes` say kind and runs of each probe that learnt
    from such a run or was scored on it; `rows` counts the rows of each table; `unused` names the
    corpora and models that no run uses any more; `freed` is how many bytes the file shrank by.
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
    """Delete runs, and corpora and models that no other run uses; all of it or nothing.

    Each is given by its name or id. Whatever refers to a run goes with it: its maps, what was
    computed from it, the probes that learnt from it or were scored on it, and rows of tables of
    the user's own with a column `run` or `sequence`. No id is given again. With `dry_run` nothing
    is deleted, and the bank is opened to read.

    Raises CallError for an unknown name, one that several have, and a corpus or model that a run
    uses; BankError where the bank cannot be opened or written.
    """
    if dry_run:
        connection = open_to_read(bank)
        try:
            return _found(connection, _ids(connection, runs, corpora, models))
        finally:
            connection.close()
    bank = existing(bank)
    before = bank.stat().st_size
    connection = open_to_write(bank, provenance.version(), {"memory_limit": "1GB"}, makes=False)
    try:
        ids = _ids(connection, runs, corpora, models)
        found = _found(connection, ids)
        with transaction(connection):
            for target, numbers in ids.items():
                if numbers:
                    delete_rows(connection, target, numbers)
        unused = _unused(connection)
        close_tidily(connection, bank, has_deleted=True)
    except duckdb.Error as error:
        raise explain(error, bank, "nothing was deleted", "type the same command again") from error
    finally:
        connection.close()
    return Deletion(
        found.runs, found.corpora, found.models, found.probes, found.rows, unused,
        before - bank.stat().st_size,
    )  # fmt: skip


def delete_run(connection: DuckDBPyConnection, run: int) -> Deletion:
    """Delete a run and all that hangs on it in a transaction; its room is free for the next."""
    found = _found(connection, {"run": [run]})
    with transaction(connection):
        delete_rows(connection, "run", [run])
    connection.execute("checkpoint")
    return found


def delete_rows(connection: DuckDBPyConnection, target: str, ids: Sequence[int]) -> None:
    """Delete rows of a table with ids, and all that refers to them, in the caller's transaction.

    What was the last id of each kind is kept in `used_id`.
    """
    connection.executemany(
        "insert or replace into used_id (kind, last) values (?, ?)",
        [[kind, following - 1] for kind, following in next_ids(connection).items()],
    )
    for place, _, condition in _doomed(references(connection), target, _among(ids)):
        connection.execute(f"delete from {place} where {condition}")


def _among(ids: Sequence[int]) -> str:
    return f"id in ({', '.join(str(number) for number in ids)})"


def _doomed(
    known: list[Reference], target: str, condition: str, above: tuple[str, ...] = ()
) -> list[tuple[str, str, str]]:
    """Table, its name for people and a condition, for all that hangs on some rows of a table.

    What refers to a row comes before it, and the rows themselves come last.
    """
    found = []
    for each in known:
        if each.target != target or each.table in (*above, target):
            continue
        own = each.condition(condition)
        if any(other.target == each.table for other in known) and each.schema == "main":
            found += _doomed(known, each.table, own, (*above, target))
        else:
            found.append((each.place, each.shown, own))
    return [*found, (f"main.{quoted(target)}", target, condition)]


def _ids(
    connection: DuckDBPyConnection,
    runs: Sequence[str],
    corpora: Sequence[str],
    models: Sequence[str],
) -> dict[str, list[int]]:
    """The ids of what was named, the runs first."""
    found = {
        "run": _numbers(connection, "run", runs),
        "corpus": _numbers(connection, "corpus", corpora),
        "model": _numbers(connection, "model", models),
    }
    for kind in ("corpus", "model"):
        for number in found[kind]:
            _check_unused(connection, kind, number, found["run"])
    return found


def _numbers(connection: DuckDBPyConnection, kind: str, asked: Sequence[str]) -> list[int]:
    rows = connection.execute(f"select id, name from {kind} order by id").fetchall()
    found: list[int] = []
    for each in asked:
        own = [number for number, name in rows if each == name] or [
            number for number, _ in rows if each == str(number)
        ]
        if not own:
            names = ", ".join(name for _, name in rows)
            raise CallError(
                f"The bank has no {kind} {each}.", f"It has: {names}." if names else "It has none."
            )
        if len(own) > 1:
            raise CallError(
                f"{len(own)} {kind}s are called {each}.",
                f"Give an id: {', '.join(str(number) for number in own)}.",
            )
        if own[0] not in found:
            found.append(own[0])
    return found


def _check_unused(connection: DuckDBPyConnection, kind: str, number: int, gone: list[int]) -> None:
    rows = connection.execute(
        f"select run.id, run.name, {kind}.name from run inner join {kind} on {kind}.id = run.{kind}"
        f" where run.{kind} = ? order by run.id",
        [number],
    ).fetchall()
    left = [(run, name) for run, name, _ in rows if run not in gone]
    if left:
        are = f"{len(left)} runs use" if len(left) > 1 else "a run uses"
        raise CallError(
            f"The {kind} {rows[0][2]} stays, for {are} it: {', '.join(name for _, name in left)}.",
            f"Delete them too: attnbank delete {' '.join(str(run) for run, _ in left)}"
            f" --{kind} {number}",
        )


def _found(connection: DuckDBPyConnection, ids: dict[str, list[int]]) -> Deletion:
    """What would go, counted."""
    known = references(connection)
    rows: dict[str, int] = {}
    conditions: dict[tuple[str, str], list[str]] = {}
    for target, numbers in ids.items():
        if numbers:
            for place, shown, condition in _doomed(known, target, _among(numbers)):
                conditions.setdefault((place, shown), []).append(f"({condition})")
    for (place, shown), each in conditions.items():
        (count,) = connection.execute(
            f"select count(*) from {place} where {' or '.join(each)}"
        ).fetchall()[0]
        if count:
            rows[shown] = count
    return Deletion(
        runs=_names(connection, "run", ids["run"]),
        corpora=_names(connection, "corpus", ids.get("corpus", [])),
        models=_names(connection, "model", ids.get("model", [])),
        probes=_probes(connection, ids["run"]),
        rows=rows,
    )


def _names(connection: DuckDBPyConnection, kind: str, ids: list[int]) -> tuple[str, ...]:
    if not ids:
        return ()
    found = connection.execute(f"select name from {kind} where {_among(ids)} order by id")
    return tuple(name for (name,) in found.fetchall())


def _probes(connection: DuckDBPyConnection, runs: list[int]) -> tuple[str, ...]:
    if not runs:
        return ()
    listed = ", ".join(str(number) for number in runs)
    rows = connection.execute(
        "select probe.id, probe.kind, train.name, test.name from probe"
        " left join run as train on train.id = probe.train_run"
        " left join run as test on test.id = probe.test_run"
        f" where probe.train_run in ({listed}) or probe.test_run in ({listed}) order by probe.id"
    ).fetchall()
    return tuple(
        f"{number} ({kind}{f', learnt from {train}' if train else ''}, scored on {test})"
        for number, kind, train, test in rows
    )


def _unused(connection: DuckDBPyConnection) -> tuple[tuple[str, str], ...]:
    """Kind and name of each corpus and model that no run uses; of equal names, its number."""
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
