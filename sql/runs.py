"""Which run an analysis reads, and what to type if it can read none.

The choice itself is SQL, the macros `run_fit` and `chosen_run` of every bank, so that the command
line, Python and every other DuckDB client choose alike. This file adds the errors for people.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from duckdb import DuckDBPyConnection

from attnbank.sql import registry
from attnbank.sql.bank.opening import empty
from attnbank.sql.errors import AttnbankWarning, BankError, CallError, QueryError
from attnbank.sql.header import Analysis, Parameter, RunChoice
from attnbank.sql.quoting import value as quoted_value
from attnbank.sql.suggest import did_you_mean, listed

PEAKS = "only its peaks and sums are kept"
RANDOM = "its weights are random"
"""Reasons that `run_fit` gives: for not reading a run, and for not choosing one by itself."""


class Asked(Protocol):
    """What answers a SELECT here: a connection of DuckDB, or an export that is open on Spark."""

    def execute(self, query: str, parameters: Any = ..., /) -> Any:
        """Run a statement; the rows are what `fetchall` of the result returns."""
        ...


class UnfinishedRunWarning(AttnbankWarning):
    """The run that was asked for is not finished: results cover only its first part."""


@dataclass(frozen=True)
class Run:
    """A run that is read, with the size of its model.

    `among` counts the runs that it was chosen from, itself included: 1 if the user named it, or
    if no other run could have been chosen.
    """

    id: int
    name: str
    corpus: int
    corpus_name: str
    layers: int
    heads: int
    is_finished: bool
    among: int = 1


@dataclass(frozen=True)
class Fit:
    """A run of the bank, and what speaks against reading it.

    `misfit` is why the analysis cannot read it; `reserve` is why it reads it only if the user names
    it. Each is None if there is no such reason.
    """

    id: int
    name: str
    misfit: str | None
    reserve: str | None

    @property
    def keeps_peaks(self) -> bool:
        """Whether the run cannot be read because it does not keep the weights."""
        return self.misfit == PEAKS

    def __str__(self) -> str:
        """The run's name, followed by what speaks against it, if anything, in brackets."""
        reason = self.misfit or self.reserve
        return self.name if reason is None else f"{self.name} ({reason})"


def choose_run(
    connection: Asked, path: Path, analysis: Analysis, given: Mapping[str, Any]
) -> Run | None:
    """The run that the analysis reads with these values; None if it does not read exactly one run.

    `path` is the bank, for the errors. Raises CallError if the run that is asked for is unknown or
    does not fit the analysis, QueryError if none is asked for and none fits.
    """
    if analysis.run is None:
        return None
    choice = settled(connection, analysis, given)
    fits = run_fits(connection, choice)
    for parameter in analysis.parameters:
        asked = given.get(parameter.name)
        if asked is not None and parameter.names_run:
            _check_named(path, analysis, fits, asked, is_read=parameter.name == "run")
    asked = given.get("run")
    usable = [each for each in fits if each.misfit is None and each.reserve is None]
    if asked is None and not usable:
        raise _none_fits(path, analysis, fits)
    return chosen_run(connection, choice, asked, len(usable) if asked is None else 1)


def settled(
    connection: Asked, analysis: Analysis, given: Mapping[str, Any] | None = None
) -> RunChoice:
    """How an analysis of one run chooses it, with these values of its parameters.

    Whether it reads every weight may depend on them; in what is returned it does not any more.
    """
    choice = analysis.run
    assert choice is not None
    if choice.weights in (None, "true"):
        return choice
    # It reads no table: for Spark an empty database tells.
    asked = connection if isinstance(connection, DuckDBPyConnection) else empty()
    (condition,) = asked.extract_statements(f"select {choice.weights}")
    values = {
        each.name: given[each.name]
        if given is not None and each.name in given
        else _default(asked, each)
        for each in analysis.parameters
        if each.name in condition.named_parameters
    }
    found = asked.execute(condition, values).fetchall()
    return replace(choice, weights="true" if found == [(True,)] else None)


def _default(connection: DuckDBPyConnection, parameter: Parameter) -> Any:
    """The value that a parameter has if none is given."""
    ((found,),) = connection.execute(
        f"select cast({parameter.default} as {parameter.type})"
    ).fetchall()
    return found


def chosen_run(connection: Asked, choice: RunChoice, asked: str | None, among: int = 1) -> Run:
    """The run of that name or id, or, if `asked` is None, the one that the bank chooses.

    The caller has made sure that there is one. Raises BankError if the run's corpus or model is
    not in the bank.
    """
    found = connection.execute(
        "select run.id, run.name, run.corpus, corpus.name, model.layers, model.heads,"
        " run.finished is not null"
        f" from chosen_run(asked := $asked, {arguments(choice)}) as chosen"
        " inner join run on run.id = chosen.id"
        " inner join corpus on corpus.id = run.corpus"
        " inner join model on model.id = run.model",
        {"asked": asked},
    ).fetchall()
    if len(found) != 1:
        raise BankError(
            "The bank is damaged: a run, its corpus and its model do not belong together.",
            "Use a copy of it that is whole, or ingest again into a new file (-b FILE).",
        )
    return replace(Run(*found[0]), among=among)


def run_fits(connection: Asked, choice: RunChoice) -> list[Fit]:
    """Every run of the bank in the order of ids, with what speaks against reading it.

    The choice is one that does not depend on parameters: `settled`.
    """
    without = replace(choice, favours=None)
    rows = connection.execute(
        "select fit.id, fit.name, fit.misfit, fit.reserve"
        f" from run_fit({arguments(without)}) as fit order by fit.id"
    ).fetchall()
    return [Fit(*row) for row in rows]


def arguments(choice: RunChoice) -> str:
    """A choice as the named arguments of the macros `run_fit` and `chosen_run`."""
    values = {
        "unit": choice.unit,
        "contexts": None if choice.contexts is None else list(choice.contexts),
        "needs": choice.needs,
        "equipped": choice.needs,
        "usual": choice.usual,
        "favours": choice.favours,
        "reads_weights": choice.weights,
    }
    return ", ".join(
        f"{name} := {_written(name, value)}" for name, value in values.items() if value is not None
    )


def _written(name: str, value: Any) -> str:
    if name == "equipped":
        return f"runs_with_{value}()"
    return str(value) if name == "reads_weights" else quoted_value(value)


def check_relation(
    connection: Asked, analysis: Analysis, given: Mapping[str, Any], run: Run
) -> None:
    """Raise CallError if a relation is asked for that is neither in the corpus nor saved.

    Relation names are data, so a mistyped one would only give an empty answer.
    """
    asked = given.get("relation")
    if asked is None or asked == "all":
        return
    rows = connection.execute(
        registry.statement("corpus_relations"), {"corpus": run.corpus}
    ).fetchall()
    if analysis.name != "probe_accuracy":  # a probe's words were chosen when it was trained
        saved = connection.execute("select distinct relation from saved_pair").fetchall()
        if (asked,) in saved:
            return
    kept = [row[0] for row in rows]
    folded = list(dict.fromkeys(name.split(":")[0] for name in kept))
    has_subtypes = any(each.name == "subtypes" for each in analysis.parameters)
    known = kept if given.get("subtypes") or not has_subtypes else folded
    if asked in known:
        return
    if asked in kept:
        raise CallError(
            f"The relation {asked} is counted with {asked.split(':')[0]}.",
            f"Ask for {asked.split(':')[0]}, or keep the subtypes apart (subtypes).",
        )
    raise CallError(
        f"No word of the corpus {run.corpus_name} has the relation {asked} to its head.",
        f"{did_you_mean(asked, [*known, 'all'])} It has: {listed([*known, 'all'], 60)}.".strip(),
    )


def _check_named(
    path: Path, analysis: Analysis, fits: list[Fit], asked: str, *, is_read: bool
) -> None:
    """Raise CallError if there is no run `asked`, or if it `is_read` and does not fit."""
    found = [each for each in fits if asked in (str(each.id), each.name)]
    able = [each.name for each in fits if each.misfit is None]
    if not found:
        known = [each.name for each in fits]
        raise CallError(
            f"There is no run {asked} in {path}.",
            f"{did_you_mean(asked, known)} {_that_fit(analysis, able)}".strip(),
        )
    if is_read and all(each.misfit is not None for each in found):
        raise CallError(
            f"{analysis.name} cannot read the run {asked}: {found[0].misfit}.",
            _that_fit(analysis, able) if able else _how_to_ingest(path, analysis, fits),
        )


def _none_fits(path: Path, analysis: Analysis, fits: list[Fit]) -> QueryError:
    """The error for an analysis that can choose no run of the bank."""
    able = [each for each in fits if each.misfit is None]
    if able:
        return QueryError(
            f"No run of {path} is one that {analysis.name} takes unasked.",
            f"Name one of these (--run, run=): {listed(map(str, able))}.",
        )
    if not fits:
        return QueryError(f"{path} has no run.", _how_to_ingest(path, analysis, fits))
    return QueryError(
        f"{analysis.name} can read no run of {path}: {listed(map(str, fits), 8)}.",
        _how_to_ingest(path, analysis, fits),
    )


def _that_fit(analysis: Analysis, names: list[str]) -> str:
    if not names:
        return f"No run fits {analysis.name}."
    return f"Runs that fit {analysis.name}: {listed(names)}."


def _how_to_ingest(path: Path, analysis: Analysis, fits: list[Fit]) -> str:
    """What to type to make a run that the analysis then reads by default."""
    choice = analysis.run
    assert choice is not None
    corpus = {
        "trees": "CORPUS (with trees: CoNLL-U, or text with --spacy PIPELINE)",
        "mentions": "CORPUS (with coreference: CoNLL-U with Entity, or CoNLL-2012)",
    }.get(choice.needs or "", "CORPUS")
    options = {
        "gradients": " --context pair --unit token --gradients",
        "losses": " --context pair --unit token --ablate heads",
    }.get(choice.needs or "", "")
    if choice.usual not in (None, "sentence"):
        options += f" --context {choice.usual}"
    if any(each.keeps_peaks for each in fits):
        options += " --keep weights"
    return f"Make one: attnbank -b {shlex.quote(str(path))} ingest{options} {corpus}"
