"""The ways to open a bank: for reading (many at once), for writing, or new.

A bank that somebody else made may hold anything, and DuckDB checks the types of its rows alone. So
its catalog (corpora, models, runs) is checked whenever it is opened, and all of it, which takes a
second for some hundred megabytes, when it comes in: by `import`, `merge` and `fetch`.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.sql import registry
from attnbank.sql.bank.bank_format import (
    EmptyDatabaseError,
    Types,
    check_format,
    columns_of_this_format,
    has_current_analyses,
    is_empty,
    types_of,
)
from attnbank.sql.bank.compaction import checkpoint_and_compact
from attnbank.sql.bank.connections import ALIAS as _ALIAS
from attnbank.sql.bank.connections import (
    GUARDED,
    closed_on_error,
    connect,
    connected,
    once_unlocked,
    transaction,
)
from attnbank.sql.bank.new_banks import check_new_place, create_bank, fill
from attnbank.sql.errors import AttnbankWarning, BankError, damaged, translate_errors
from attnbank.sql.ids import LARGEST_OWNER, OF_WORDS, read_shards
from attnbank.sql.interrupts import postponed
from attnbank.sql.names import literal, quoted
from attnbank.sql.outputs import remove_parts
from attnbank.sql.paths import (
    address_of,
    bank_file,
    check_is_duckdb,
    printable_path,
    typed_path,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The most heads of a model in all its layers; the largest models have a sixth of that.
MOST_HEADS = 100_000

# The most characters of the name of a run: `ingest` takes 1,000 of a corpus and of a model.
LONGEST_NAME = 4_000

# Tables whose rows of no input are read by nobody: `merge` says that it leaves them out.
_OF_INPUTS = frozenset({"attention", "attention_top", "attention_map", "peak", "gradient"})

# Tables of measurements, of which no number is infinite or NaN.
_OF_MEASUREMENTS = (
    "ablation", "head_distance", "head_embedding", "attention_tree", "probe_score", "probe_weight",
    "surprisal", "ablated_surprisal", "minimal_pair", "ablated_pair",
)  # fmt: skip

_UNCHANGED = ("the bank was left unchanged", "type the same command again")


class UnreadLogWarning(AttnbankWarning):
    """DuckDB left out the write-ahead log beside a bank, or the end of it."""


def open_to_read(
    path: str | Path,
    settings: Sequence[str] = (),
    *,
    spills: bool = True,
    writes_below: Path | None = None,
    seconds: float | None = None,
) -> DuckDBPyConnection:
    """Open a bank read-only; the connection can reach nothing except the bank.

    It is attached to an in-memory database, so that it may be open elsewhere in the process with
    other settings. `settings` are SQL statements that run before all else is shut out. With
    `spills`, what does not fit into memory goes to a temporary folder beside the bank; without it,
    no local file can be opened. Files can be written only below `writes_below`. `seconds` is how
    long each later statement may take. If another version wrote the bank's analyses, those of this
    version are in memory, and every further cursor needs `install_temporarily`.

    Raises CallError if the path cannot name a file, BankError if there is no bank of this format,
    and DuckDB's InterruptException if `seconds` are too few even to lock the settings.
    """
    path = place = printable_path(path)
    address = address_of(path)
    if address is None:
        place = existing(path)
        check_is_duckdb(path, place)
    connection = connected(settings=GUARDED)
    run = connection.execute
    with closed_on_error(connection):
        name = str(place)
        if address is not None:
            from attnbank.sql.bank import remote  # imported late, for what it imports

            file = remote.register(connection, address)
            name = file.name
        # The order matters: each step shuts out more, and what it needs must have been done before.
        with translate_errors(typed_path(path)):
            once_unlocked(lambda: run(f"attach {literal(name)} as {_ALIAS} (read_only)"))
            if address is not None:
                file.revoke()
            run(f"use {_ALIAS}")
            run("detach memory")  # a statement could write to it, since it is not read-only
            for setting in settings:
                run(setting)
            # There is no folder beside an address.
            beside = f"{place}.tmp" if spills and address is None else ""
            run(f"set temp_directory = {literal(beside)}")
            if writes_below is not None:
                # DuckDB's threads for writing wait for each other for ever if reading fails in the
                # middle of a COPY (AsyncWriteQueue::AbortWrites).
                run("set async_threads = 0")
                run(f"set allowed_directories = [{literal(str(writes_below.absolute()))}]")
            run("set enable_external_access = false")
            if not spills:
                run("set disabled_filesystems = 'LocalFileSystem'")
            if address is None:
                _warn_of_unread_log(connection, place)
            _check_is_bank(connection, path, types_of(connection))
            if not has_current_analyses(connection):
                install_temporarily(connection)
        if seconds is not None:
            run(f"set global max_execution_time = {max(1, round(seconds * 1000))}")
        run("set lock_configuration = true")  # which may itself take longer than a few milliseconds
    return connection


def open_unless_new(path: str | Path) -> DuckDBPyConnection | None:
    """Open a bank like `open_to_read`; None where nothing is, or only an empty database."""
    place = bank_file(path)
    with suppress(EmptyDatabaseError):
        return open_to_read(path) if place.exists() and place.stat().st_size else None
    return None


def size_of(path: str | Path) -> int:
    """The bytes of a bank. Raises OSError, and BankError if it cannot be reached."""
    address = address_of(path)
    if address is None:
        return Path(path).stat().st_size
    from attnbank.sql.bank import remote  # imported late, for what it imports

    return remote.RemoteFile(address).size


def _check_is_bank(connection: DuckDBPyConnection, path: Path, own: Types) -> None:
    """Raise BankError unless a database, whose tables are `own`, is a bank that can be used."""
    check_format(connection, path, own)
    if fault := fault_of_catalog(connection):
        raise damaged(typed_path(path), fault)


def _warn_of_unread_log(connection: DuckDBPyConnection, place: Path) -> None:
    """Warn if DuckDB did not read the log to its end; `format_bytes` rounds what it says."""
    try:
        size = Path(f"{place}.wal").stat().st_size
    except FileNotFoundError:
        return
    if not size:
        return
    read = connection.execute(
        "select wal_size = format_bytes(?) from pragma_database_size()"
        " where database_name = current_database()",
        [size],
    ).fetchall()
    # DuckDB reports the size of the log that it has read.
    if read != [(True,)]:
        warnings.warn(
            f"DuckDB ignored the log {place}.wal, or the end of it: a program was killed while it"
            " committed, or the file is damaged.",
            UnreadLogWarning,
            stacklevel=4,
        )


def open_to_write(
    path: str | Path,
    created_by: str,
    settings: dict[str, str] | None = None,
    *,
    makes: bool = True,
    reads: Sequence[Path] = (),
) -> DuckDBPyConnection:
    """Open a bank for writing, and bring its analyses up to date.

    With `makes` a bank is made, by the version `created_by`, where nothing is, or nothing is in it.
    Of other files the connection can read `reads`. Close it with `checkpoint_and_compact`. Raises
    as open_to_read does, and BankError if another process has the bank open.
    """
    place = bank_file(path) if makes else existing(path)
    if makes and not (place.exists() and place.stat().st_size):
        with postponed():  # takes a second at most, and must leave nothing behind
            create_bank(check_new_place(place), Path(path), created_by)
    connection = _connected_to_write(place, Path(path), settings, reads)
    with closed_on_error(connection), translate_errors(Path(path), *_UNCHANGED):
        own = types_of(connection)
        if makes and is_empty(connection, own):
            fill(connection, created_by)
            own = types_of(connection)
        _check_is_bank(connection, Path(path), own)
        _update_analyses(connection)
    return connection


def _connected_to_write(
    place: Path,
    path: Path,
    settings: Mapping[str, str] | None = None,
    reads: Sequence[Path] = (),
) -> DuckDBPyConnection:
    connection = connect(place, settings, path, reads)
    with closed_on_error(connection):
        _warn_of_unread_log(connection, place)
        remove_parts(place)  # a copy that a killed process left
    return connection


def upgrade(path: str | Path) -> bool:
    """Bring the analyses of a bank up to this version's; return whether they were another's.

    Raises as open_to_read does, and BankError if another process has the bank open; then, or if the
    process is killed, the bank is unchanged.
    """
    path = Path(path)
    connection = _connected_to_write(existing(path), path)
    with closed_on_error(connection), translate_errors(path, *_UNCHANGED):
        _check_is_bank(connection, path, types_of(connection))
        is_of_another = _update_analyses(connection)
    with translate_errors(path, "the bank is upgraded", _UNCHANGED[1]):
        checkpoint_and_compact(connection, path)
    return is_of_another


def _update_analyses(connection: DuckDBPyConnection) -> bool:
    """Replace the analyses of another version, and return whether there were any."""
    if has_current_analyses(connection):
        return False
    with transaction(connection):
        reinstall(connection)
    return True


def existing(path: str | Path) -> Path:
    """The absolute path of a bank; raises BankError if there is none, and as `bank_file`."""
    place = bank_file(path)
    if place.exists() and place.stat().st_size:
        return place
    raise BankError(
        f"{path} is empty, not a bank yet." if place.exists() else f"There is no bank {path}.",
        f"Fill one (attnbank -b {shlex.quote(str(path))} ingest CORPUS...), or name another"
        " (-b FILE).",
    )


def reinstall(connection: DuckDBPyConnection) -> None:
    """Replace the functions, views, analyses and comments of a bank by those of this version.

    The old ones are told from a user's own macros by the comment that attnbank gives its macros.
    """
    rows = connection.execute(
        "select substr(function_name, 2) from duckdb_functions()"
        " where not internal and database_name = current_database()"
        " and function_type = 'table_macro' and starts_with(function_name, '_')"
        " and comment = concat("
        "'The statement of ', substr(function_name, 2), ', with every parameter given.')"
    ).fetchall()
    for name in {name for (name,) in rows} - {*registry.shared(), *registry.analyses()}:
        connection.execute(f"drop macro table if exists {quoted(name)}")
        connection.execute(f"drop macro table if exists {quoted(f'_{name}')}")
    for statement in (*registry.replaceable(), *registry.install()):
        connection.execute(statement)
    connection.execute("update bank set analyses = ?", [registry.fingerprint()])


def install_temporarily(connection: DuckDBPyConnection) -> None:
    """Make this version's functions and analyses for one connection, where they hide the file's."""
    for statement in (*registry.replaceable(temporary=True), *registry.install(temporary=True)):
        connection.execute(statement)


def fault_of_catalog(connection: DuckDBPyConnection) -> str | None:
    """What is wrong with the corpora, models and runs of the current database, in words."""
    values = {"longest": LONGEST_NAME, "heads": MOST_HEADS, "last": LARGEST_OWNER - 1}
    return _first_fault(connection, "catalog", values)


def fault_of_rows(connection: DuckDBPyConnection) -> str | None:
    """What is wrong with the rows of the current database, a bank or an export, in words."""
    return (
        fault_of_catalog(connection)
        or _first_fault(connection, "text")
        or _lost_row(connection)
        or _row_of_another_shard(connection)
        or _first_fault(connection, "inputs")
        or _first_fault(connection, "weights")
        or _infinite_number(connection)
    )


def _first_fault(
    connection: DuckDBPyConnection, name: str, values: dict[str, Any] | None = None
) -> str | None:
    rows = connection.execute(registry.internal_statement(f"check/{name}"), values).fetchall()
    return str(rows[0][0]) if rows else None


def _lost_row(connection: DuckDBPyConnection) -> str | None:
    """A table with a row that names one of another table which is not there."""
    tables = columns_of_this_format()
    selects = []
    for table, columns in tables.items():
        for column, type_ in columns.items() if table not in _OF_INPUTS else ():
            target = "run" if column.endswith("_run") else "word" if column in OF_WORDS else column
            if type_ in ("INTEGER", "BIGINT") and "id" in tables.get(target, ()):
                selects.append(
                    f"select 'its table {table} has rows that belong to no {target}'"
                    f" from {table} as own where own.{column} is not null"
                    f" and own.{column} not in (select id from {target})"
                )
    rows = connection.execute(f"{' union all '.join(selects)} limit 1").fetchall()
    return str(rows[0][0]) if rows else None


def _row_of_another_shard(connection: DuckDBPyConnection) -> str | None:
    """A corpus or run with a document that is not in its shard; `sql/ids.py` says which are."""
    for kind, condition in (
        ("corpus", "corpus = $id"),
        ("run", "id in (select document from sequence where run = $id)"),
    ):
        for id, name, text in connection.execute(
            f"select id, left(name, 40), shard from {kind} where shard is not null"
        ).fetchall():
            try:
                shards = read_shards(text)
            except ValueError:
                return f"its {kind} {name} has an invalid shard: {text[:40]!r}"
            ((index,),) = connection.execute(
                f"select min(index) from document where {condition}"
                " and not list_contains($numbers, (index - 1) % $count + 1)",
                {"id": id, "numbers": sorted(shards.numbers), "count": shards.count},
            ).fetchall()
            if index is not None:
                return f"its {kind} {name} has document {index}, but is shard {text[:40]}"
    return None


def _infinite_number(connection: DuckDBPyConnection) -> str | None:
    """A table of measurements with a number that is infinite or NaN."""
    tables = columns_of_this_format()
    selects = [
        f"select 'its table {table} has a number that is not finite ({column})' from {table}"
        f" where not isfinite({column})"
        for table in _OF_MEASUREMENTS
        for column, type_ in tables[table].items()
        if type_ in ("DOUBLE", "FLOAT")
    ]
    rows = connection.execute(f"{' union all '.join(selects)} limit 1").fetchall()
    return str(rows[0][0]) if rows else None
