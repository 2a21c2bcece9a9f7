"""Which run answers each section, so that a report is about one model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnbank.sql import registry
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.header import Analysis
from attnbank.sql.runs import run_fits, settled

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank


@dataclass(frozen=True)
class Candidate:
    """A run as the choice sees it; `corpus` and `model` are ids."""

    id: int
    name: str
    model: int
    corpus: int
    context: str
    unit: str
    is_finished: bool


@dataclass(frozen=True)
class Subject:
    """What a report is about: its main run, over single sentences of words where there is one.

    `main` is None in a bank without a run. `is_named` says whether it was asked for by name.
    """

    main: Candidate | None
    is_named: bool
    runs: tuple[Candidate, ...]

    def run(self, name: str) -> Candidate:
        """Return the run of a name. Raises KeyError where there is none."""
        return {each.name: each for each in self.runs}[name]


def subject(bank: Bank, run: str | int | None = None) -> Subject:
    """What a report on a bank is about; with `run` that run, by name or id.

    Without it the run is the one that best_head reads, else the newest that is finished. Raises
    CallError where there is no such run, or where it is none of words: those who name a run mean
    the one that the sections on syntax read.
    """
    with bank._answering():
        rows = bank.connection.execute(registry.statement("sections/runs")).fetchall()
    runs = tuple(Candidate(*row) for row in rows)
    by_name = {each.name: each for each in runs}
    if run is not None:
        found = bank.run_of("best_head", run=str(run))
        assert found is not None
        return Subject(by_name[found.name], True, runs)
    try:
        usual = bank.run_of("best_head")
    except QueryError:
        usual = None
    if usual is not None:
        return Subject(by_name[usual.name], False, runs)
    finished = [each for each in runs if each.is_finished]
    return Subject(finished[-1] if finished else None, False, runs)


def values_for(bank: Bank, analysis: Analysis, of: Subject) -> dict[str, Any]:
    """The value of the parameter `run` for an analysis; empty where its own choice is right.

    Its own choice is right where the run is of the model that the report is about. Where the run
    of the report was named, a run over the same corpus goes before others of the same kind. Raises
    as `Bank.run_of` does where none fits.
    """
    main = of.main
    if analysis.run is None or main is None:
        return {}
    if analysis.run.needs == "trees":
        return {"run": main.name} if of.is_named else {}
    try:
        usual = bank.run_of(analysis.name)
    except (CallError, QueryError):
        usual = None
    choice = analysis.run
    if usual is not None and of.run(usual.name).model == main.model:
        first = of.run(usual.name)
        if not of.is_named or first.corpus == main.corpus:
            return {}
    with bank._answering():
        fits = run_fits(bank.connection, settled(bank.connection, analysis))
    able = {each.id for each in fits if each.misfit is None}
    same = [
        each
        for each in of.runs
        if each.id in able
        and each.model == main.model
        and each.is_finished
        and choice.usual in (None, each.context)
    ]
    if not same:
        if usual is None:
            bank.run_of(analysis.name)  # which says why
        return {}
    best = max(
        same,
        key=lambda each: (
            choice.favours == f"{each.context}/{each.unit}",
            each.corpus == main.corpus,
            each.id == (usual.id if usual is not None else None),
            each.id,
        ),
    )
    return {} if usual is not None and usual.id == best.id else {"run": best.name}


def control_of(bank: Bank, of: Subject) -> str | None:
    """The run of random weights that is like the main one; None where there is none."""
    if of.main is None:
        return None
    with bank._answering():
        rows = bank.connection.execute(
            registry.statement("patterns/control_run"), {"run": of.main.name}
        ).fetchall()
    return str(rows[0][0]) if rows else None
