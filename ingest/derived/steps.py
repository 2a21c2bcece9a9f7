"""The steps of `attnbank compute`: they fill tables with what SQL cannot compute fast enough.

A step is an entry in STEPS and a function in a module of its own,

    def name(connection, run, on_progress, **options) -> pyarrow.Table

that returns the rows for a table of the same name. All rows with the same run and the same values
of the key options are replaced together.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.ingest.progress import OnProgress, unheard
from attnbank.sql import provenance
from attnbank.sql.bank.opening import existing, explain, open_to_write
from attnbank.sql.bank.room import close_tidily
from attnbank.sql.bank.transactions import transaction
from attnbank.sql.errors import CallError
from attnbank.sql.extras import need

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from attnbank.sql.runs import Run


@dataclass(frozen=True)
class Option:
    """An option of a step. With `is_key` the table can have rows of several values at once."""

    name: str
    type: type[int] | type[float]
    default: int | float
    help: str
    is_key: bool = False


@dataclass(frozen=True)
class Step:
    """A step: the table that it fills has its name, and so has the function in `module`.

    `needs` are the steps whose tables it reads; those that have no rows are computed first.
    `modules` are the modules that it imports and that the base install leaves out.
    """

    name: str
    title: str
    module: str
    options: tuple[Option, ...] = ()
    needs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


_SMOOTHING = Option(
    "smoothing",
    float,
    0.001,
    "share of a uniform distribution that is mixed into every one",
    is_key=True,
)

STEPS = {
    step.name: step
    for step in (
        Step(
            "head_distance",
            "How far apart every two heads attend (Jensen-Shannon divergence)",
            "attnbank.ingest.derived.head_distance",
            (_SMOOTHING,),
        ),
        Step(
            "head_embedding",
            "The heads in a plane that keeps their distances (multidimensional scaling)",
            "attnbank.ingest.derived.head_embedding",
            (
                _SMOOTHING,
                Option("seed", int, 0, "seed of the random starts"),
                Option("starts", int, 8, "random starts, beside one from classical scaling"),
            ),
            needs=("head_distance",),
            modules=("sklearn",),
        ),
    )
}


@dataclass(frozen=True)
class Computed:
    """What a step did: the name of the run, and the number of rows in each table that it filled.

    `is_new` is false if the bank had them already, computed with the same options.
    """

    run: str
    rows: dict[str, int]
    is_new: bool = True


def compute(
    bank: str | Path,
    step: str,
    run: str | int | None = None,
    on_progress: OnProgress = unheard,
    *,
    replace: bool = False,
    **options: int | float,
) -> Computed:
    """Compute a step for a run and keep its rows in the bank, in place of those of other options.

    If the bank has rows that were computed with the same options, nothing is done, unless
    `replace` is given. `run` is a name or an id; the default is the bank's own choice, else the
    newest finished run of trained weights, of token pairs before others.

    Raises CallError for an unknown step, option or run and for a run that is not finished,
    MissingPackageError if the step needs a package that is not installed, BankError if the bank
    cannot be written.
    """
    import duckdb

    from attnbank.ingest.derived.maps import choose_run

    chosen = find(step)
    values = _values(chosen, options)
    if chosen.modules:  # checked now, and not after minutes of computing what the step needs
        need(f"Computing {chosen.name}", *chosen.modules)
    path = existing(bank)
    connection = open_to_write(path, provenance.version(), {"memory_limit": "1GB"}, makes=False)
    try:
        found = choose_run(connection, run)
        if not found.is_finished:
            raise CallError(
                f"The run {found.name} is unfinished: what is computed now would not hold later.",
                "Finish it first: type the same ingest command again.",
            )
        kept = None if replace else _kept(connection, chosen, found, values)
        if kept is not None:
            return Computed(found.name, {chosen.name: kept}, is_new=False)
        rows = _compute(connection, chosen, found, values, on_progress)
        close_tidily(connection, path, has_deleted=True)
    except duckdb.Error as error:
        raise explain(
            error, path, "what was computed before is as it was", "type the same command again"
        ) from error
    finally:
        connection.close()
    return Computed(found.name, rows)


def find(name: str) -> Step:
    """The step with that name. Raises CallError for an unknown one."""
    step = STEPS.get(name.replace("-", "_"))
    if step is None:
        raise CallError(
            f"There is nothing called {name} to compute.", f"Use one of: {', '.join(STEPS)}."
        )
    return step


def _values(step: Step, options: dict[str, Any]) -> dict[str, int | float]:
    known = {option.name: option for option in step.options}
    for name in options:
        if name not in known:
            raise CallError(f"{step.name} has no option {name}.", f"It takes: {', '.join(known)}.")
    return {name: option.type(options.get(name, option.default)) for name, option in known.items()}


def _compute(
    connection: DuckDBPyConnection,
    step: Step,
    run: Run,
    values: dict[str, int | float],
    on_progress: OnProgress,
) -> dict[str, int]:
    """Compute what the step needs, then the step; the number of rows put into each table."""
    rows: dict[str, int] = {}
    for name in step.needs:
        needed = STEPS[name]
        shared = {option.name: values[option.name] for option in needed.options}
        if not _is_stored(connection, needed, run, shared):
            rows |= _compute(connection, needed, run, shared, on_progress)
    function = getattr(importlib.import_module(step.module), step.name)
    table = function(connection, run, on_progress, **values)
    _replace(connection, step, run, values, table)
    return rows | {step.name: table.num_rows}


def _key(step: Step, run: Run, values: dict[str, int | float]) -> tuple[str, list[int | float]]:
    """The SQL condition, and its values, for the rows of a run and of these key options."""
    keys = {"run": run.id} | {
        option.name: values[option.name] for option in step.options if option.is_key
    }
    return " and ".join(f"{name} = ?" for name in keys), list(keys.values())


def _is_stored(
    connection: DuckDBPyConnection, step: Step, run: Run, values: dict[str, int | float]
) -> bool:
    condition, key = _key(step, run, values)
    found = connection.execute(f"select count(*) from {step.name} where {condition}", key)
    return bool((found.fetchone() or (0,))[0])


def _kept(
    connection: DuckDBPyConnection, step: Step, run: Run, values: dict[str, int | float]
) -> int | None:
    """The number of rows that the step put into the bank with these options; None if it did not."""
    if not _is_stored(connection, step, run, values):
        return None
    rows = connection.execute(
        "select options, row_count from computation where run = ? and step = ?",
        [run.id, step.name],
    ).fetchall()
    return next((int(count) for options, count in rows if options == _text(values)), None)


def _text(values: dict[str, int | float]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def _replace(
    connection: DuckDBPyConnection,
    step: Step,
    run: Run,
    values: dict[str, int | float],
    table: pa.Table,
) -> None:
    """Put rows into the step's table in place of earlier ones, and record it in `computation`."""
    condition, key = _key(step, run, values)
    keys = [option.name for option in step.options if option.is_key]
    same = "".join(f" and map_extract_value(options, '{name}') = ?" for name in keys)
    with transaction(connection):
        connection.execute(f"delete from {step.name} where {condition}", key)
        connection.register("arriving", table)
        connection.execute(f"insert into {step.name} by name select * from arriving")
        connection.unregister("arriving")
        connection.execute(
            f"delete from computation where run = ? and step = ?{same}",
            [run.id, step.name, *(str(values[name]) for name in keys)],
        )
        connection.execute(
            "insert into computation (run, step, options, row_count, code_version, finished)"
            " values (?, ?, ?, ?, ?, ?)",
            [run.id, step.name, _text(values), table.num_rows, provenance.version(),
             provenance.now()],
        )  # fmt: skip
