"""The computations of `attnbank compute`: tables that SQL cannot fill fast enough.

A step is an entry in STEPS, and a function of its name in a module, which returns the rows of a
table of that name. Rows of the same run and values of the key options are replaced together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as replaced
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.ingest.progress import OnProgress, ignore_progress
from attnbank.sql import provenance, registry
from attnbank.sql.errors import CallError, require_extra

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from attnbank.sql.run_choice import Run

_SETTINGS = {"memory_limit": "1GB"}


@dataclass(frozen=True)
class Option:
    """An option of a step: a number, or one of its `choices`.

    With `is_key` the table can have rows for several values of the option.
    """

    name: str
    default: int | float | str
    help: str
    is_key: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Computation:
    """A step: its options, the steps it `needs`, and the `extra` that installs its `modules`.

    `module` is the module of its function. `reads` is the annotation that it reads of a run besides
    the weights (trees, ...); None for that of its analysis.
    """

    name: str
    title: str
    options: tuple[Option, ...]
    needs: tuple[str, ...] = ()
    extra: str = ""
    modules: tuple[str, ...] = ()
    module: str = "head_distances"
    reads: str | None = None


_SMOOTHING = Option(
    "smoothing", 0.001, "share of the uniform distribution mixed into each", is_key=True
)
_ENSEMBLE = Option("ensemble", 4, "the most heads in the ensemble of a relation")

_STEPS = (
    Computation(
        "head_distance",
        "How far apart every two heads attend (Jensen-Shannon divergence)",
        (_SMOOTHING,),
    ),
    Computation(
        "head_embedding",
        "The heads in a plane that keeps their distances (multidimensional scaling)",
        (
            _SMOOTHING,
            Option("seed", 0, "seed of the random starts"),
            Option("starts", 8, "random starts, in addition to one from classical scaling"),
        ),
        needs=("head_distance",),
        extra="cluster",
        modules=("sklearn",),
    ),
    Computation(
        "tree_ensemble",
        "The heads that find each relation together, chosen on half of the documents",
        (_ENSEMBLE,),
        module="trees",
        reads="trees",
    ),
    Computation(
        "attention_tree",
        "The tree with the largest weights over each sentence: of heads, of their means, and of an"
        " ensemble",
        (
            Option(
                "root",
                "none",
                "the root: none, to decode it too, or gold, that of the annotation",
                is_key=True,
                choices=("none", "gold"),
            ),
            Option(
                "decoder",
                "spanning",
                "any tree (spanning), or one whose arcs do not cross (projective)",
                is_key=True,
                choices=("spanning", "projective"),
            ),
            _ENSEMBLE,
        ),
        needs=("tree_ensemble",),
        extra="trees",
        modules=("ufal.chu_liu_edmonds",),
        module="trees",
        reads="trees",
    ),
    Computation(
        "attention_span",
        "Phrases by how unlike the attention of neighbouring words is (Kim et al. 2020)",
        (
            Option(
                "distance",
                "jensen_shannon",
                "how unlike two distributions are",
                is_key=True,
                choices=("jensen_shannon", "hellinger"),
            ),
        ),
        module="trees",
        reads="constituents",
    ),
)
STEPS = {step.name: step for step in _STEPS}


@dataclass(frozen=True)
class Computed:
    """The run, and the rows of each table filled; `is_new` is false if the bank had them."""

    run: str
    rows: dict[str, int]
    is_new: bool = True


def compute(
    bank: str | Path,
    step: str,
    run: str | int | None = None,
    on_progress: OnProgress = ignore_progress,
    *,
    replace: bool = False,
    **options: int | float | str,
) -> Computed:
    """Compute a step for a run and store its rows; `replace` even if the bank has them.

    `run` is a name or an id; by default the default run of the bank. Raises CallError for an
    unknown step, option or run and for an unfinished run, MissingPackageError, BankError if the
    bank cannot be written.
    """
    from attnbank.ingest.store.writer import open_for_changes
    from attnbank.sql.run_choice import choose_finished_run

    computation = STEPS.get(step.replace("-", "_"))
    if computation is None:
        raise CallError(
            f"There is no computation called {step}.", f"Use one of: {', '.join(STEPS)}."
        )
    values = _check_options(computation, options)
    # Checked now, not after minutes of computing other steps.
    require_extra(f"Computing {computation.name}", computation.extra, *computation.modules)
    analysis = registry.find_analysis(computation.name)
    assert analysis.run is not None
    needs = computation.reads or analysis.run.needs
    choice = replaced(analysis.run, weights="true", needs=needs)
    path, outcome = Path(bank), "earlier results are unchanged"
    with open_for_changes(path, outcome, _SETTINGS, has_deleted=True) as connection:
        chosen_run = choose_finished_run(connection, path, choice, computation.name, run)
        count = None if replace else _stored_row_count(connection, computation, chosen_run, values)
        if count is not None:
            return Computed(chosen_run.name, {computation.name: count}, is_new=False)
        return Computed(
            chosen_run.name, _compute(connection, computation, chosen_run, values, on_progress)
        )


def _check_options(step: Computation, options: Mapping[str, Any]) -> dict[str, int | float | str]:
    known = {option.name: option for option in step.options}
    for name, value in options.items():
        if name not in known:
            raise CallError(f"{step.name} has no option {name}.", f"It takes: {', '.join(known)}.")
        choices = known[name].choices
        if choices and value not in choices:
            raise CallError(f"{name} cannot be {value}.", f"Use one of: {', '.join(choices)}.")
    return {
        name: type(option.default)(options.get(name, option.default))
        for name, option in known.items()
    }


def _compute(
    connection: DuckDBPyConnection,
    step: Computation,
    run: Run,
    values: dict[str, int | float | str],
    on_progress: OnProgress,
) -> dict[str, int]:
    """Compute the steps that this one needs, and then it; return the number of rows per table."""
    from attnbank.ingest.store.writer import insert, insert_row
    from attnbank.sql.bank.connections import transaction

    rows: dict[str, int] = {}
    for name in step.needs:
        needed = STEPS[name]
        shared = {option.name: values[option.name] for option in needed.options}
        if _stored_row_count(connection, needed, run, shared) is None:
            rows |= _compute(connection, needed, run, shared, on_progress)
    module, started = import_module(f"attnbank.ingest.derived.{step.module}"), provenance.now()
    table = getattr(module, step.name)(connection, run, on_progress, **values)
    with transaction(connection):
        _delete(connection, step, run, _values_as_text(values))
        for outdated, options in _outdated_computations(
            connection, step, run, _values_as_text(values)
        ):
            _delete(connection, outdated, run, options)
        insert(connection, step.name, table)
        insert_row(
            connection, "computation", run=run.id, step=step.name, options=_values_as_text(values),
            row_count=table.num_rows, **provenance.stamp(started), finished=provenance.now(),
        )  # fmt: skip
    return rows | {step.name: table.num_rows}


def _delete(
    connection: DuckDBPyConnection, step: Computation, run: Run, options: Mapping[str, str]
) -> None:
    """Delete the rows of a step for a run and these values of its key options."""
    from attnbank.ingest.store.writer import delete_matching

    keys = {option.name: options[option.name] for option in step.options if option.is_key}
    delete_matching(connection, step.name, run=run.id, **keys)
    same = "".join(f" and map_extract_value(options, '{name}') = ?" for name in keys)
    connection.execute(
        f"delete from computation where run = ? and step = ?{same}",
        [run.id, step.name, *keys.values()],
    )


def _outdated_computations(
    connection: DuckDBPyConnection, step: Computation, run: Run, options: Mapping[str, str]
) -> Iterator[tuple[Computation, dict[str, str]]]:
    """Yield the computations that used the replaced rows of this step, with their options."""
    from attnbank.ingest.store.writer import matching_rows

    for later_step in STEPS.values():
        shared = [option.name for option in step.options if not option.is_key]
        if step.name not in later_step.needs:
            continue
        for row in matching_rows(connection, "computation", run=run.id, step=later_step.name):
            if any(row["options"].get(name) != options[name] for name in shared):
                yield later_step, row["options"]


def _stored_row_count(
    connection: DuckDBPyConnection,
    step: Computation,
    run: Run,
    values: dict[str, int | float | str],
) -> int | None:
    """Return the number of rows that the bank has of a step with these options; None if none."""
    from attnbank.ingest.store.writer import matching_rows

    rows = matching_rows(connection, "computation", run=run.id, step=step.name)
    options = _values_as_text(values)
    return next((int(row["row_count"]) for row in rows if row["options"] == options), None)


def _values_as_text(values: Mapping[str, int | float | str]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}
