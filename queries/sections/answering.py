"""Asking a bank one section."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import polars as pl

from attnbank.queries import pictures
from attnbank.queries.pictures.facts import facts_of
from attnbank.queries.sections import commands
from attnbank.queries.sections.choosing import Subject, control_of, values_for
from attnbank.queries.sections.comparing import compare
from attnbank.queries.sections.example import EXAMPLE, example
from attnbank.queries.sections.kinds import Answer, Comparison, Drawn, Missing, Section
from attnbank.sql import registry
from attnbank.sql.errors import BankError, CallError, QueryError
from attnbank.sql.header import Analysis

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank

CONTROL = "compare_runs"
_RUNS = ("run", "run_a", "run_b", "test_run")


def answer(bank: Bank, section: Section, of: Subject, *, draws: bool = True) -> Answer | Missing:
    """What the bank says to a section, or why it cannot and what to type.

    Without `draws` no picture is made ready. Raises BankError where the bank is damaged or closed.
    """
    if section.analysis == EXAMPLE:
        return example(bank, section, of)
    analysis = registry.find(section.analysis)
    begun = time.perf_counter()
    try:
        values = _values(bank, section, of)
        if isinstance(values, Missing):
            return values
        kept = bank.kept(analysis.name, **values) if bank.reads_kept else None
        rows = bank.query(analysis.name, **values)
    except BankError:
        raise
    except (CallError, QueryError) as error:
        return Missing(section, error.fact, commands.remedy(bank, analysis.name, error, of))
    if not rows.height:
        return _empty(bank, section, analysis, of)
    run = {name: each for name, each in values.items() if name == "run"}
    drawn = _drawn(bank, section, analysis, rows, values) if draws else None
    comparison = None if section.published is None else _compared(bank, section, run, of)
    return Answer(
        section,
        analysis.title,
        _runs_of(rows),
        rows,
        analysis.text,
        commands.query_command(bank.path, analysis.name, values),
        analysis.notes,
        drawn,
        comparison,
        time.perf_counter() - begun,
        None if kept is None else kept.finished,
    )


def _values(bank: Bank, section: Section, of: Subject) -> dict[str, Any] | Missing:
    """The parameters of a section's analysis; Missing where there is no control to compare with."""
    if section.analysis == CONTROL:
        control = control_of(bank, of)
        if control is None or of.main is None:
            why = "The bank has no finished run of random weights that is like the main one."
            if of.main is None:
                path = [str(bank.path), commands.PLACE]
                return Missing(section, why, f"attnbank -b {path[0]} ingest {path[1]}")
            typed = commands.ingest(bank, of, ("--random-weights", "1"))
            return Missing(section, why, typed)
        return {**section.values, "run_a": of.main.name, "run_b": control}
    return {**section.values, **values_for(bank, registry.find(section.analysis), of)}


def _drawn(
    bank: Bank, section: Section, analysis: Analysis, rows: pl.DataFrame, values: dict[str, Any]
) -> Drawn | None:
    """The picture of a section; None where there is nothing to draw."""
    pictured = registry.find(section.picture)
    if pictured.plot is None:
        return None
    same = pictured.name == analysis.name
    taken = {each.name for each in pictured.parameters}
    given = values if same else {name: v for name, v in values.items() if name in taken}
    try:
        frame = rows if same else bank.query(pictured.name, **given)
        facts = facts_of(frame, bank.runs(), given)
        specification = pictures.specification(pictured, frame, facts)
    except (CallError, QueryError):
        return None  # too many panels, or nothing that has a place: the table says it all
    return Drawn(
        pictured.name,
        frame,
        commands.query_command(bank.path, pictured.name, given, "plot"),
        specification,
    )


def _compared(bank: Bank, section: Section, run: dict[str, Any], of: Subject) -> Comparison | None:
    assert section.published is not None
    try:
        return compare(bank, section.published, run, control_of(bank, of))
    except (CallError, QueryError):
        return None  # what it is compared with needs more than the section itself


def _empty(bank: Bank, section: Section, analysis: Analysis, of: Subject) -> Missing:
    """The word about an analysis that can be asked and has nothing to say."""
    error = QueryError(f"{analysis.name} has no rows: {analysis.empty or 'nothing fits'}.")
    return Missing(section, error.fact, commands.remedy(bank, analysis.name, error, of))


def _runs_of(rows: pl.DataFrame) -> tuple[str, ...]:
    """The names of the runs that rows are of."""
    names: dict[str, None] = {}
    for column in _RUNS:
        if column in rows.columns:
            names.update(dict.fromkeys(rows[column].drop_nulls().unique(maintain_order=True)))
    return tuple(names)
