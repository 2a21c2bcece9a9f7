"""Which run an analysis reads, and whether it can."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank import sql
from attnbank.queries import parameters, registry
from attnbank.queries.names import did_you_mean, listed
from attnbank.sql import Analysis
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError


class UnfinishedRunWarning(AttnbankWarning):
    """The run that was asked for is not finished: figures are over its first part."""


@dataclass(frozen=True)
class Run:
    """A run that an analysis reads."""

    id: int
    name: str
    corpus: int
    corpus_name: str
    is_finished: bool


def choose_run(
    connection: DuckDBPyConnection, path: Path, analysis: Analysis, given: Mapping[str, Any]
) -> Run | None:
    """The run that the analysis reads with these values; None where it reads no one run.

    Raises CallError where the run that is asked for is unknown or does not fit the analysis,
    QueryError where none is asked for and none fits.
    """
    for parameter in analysis.parameters:
        if parameters.is_run(parameter) and given.get(parameter.name) is not None:
            _check_named(connection, path, analysis, given[parameter.name])
    choice = registry.chosen_run(analysis)
    if choice is None:
        return None
    owner, select = choice
    declared = {each.name: each.default for each in owner.parameters}
    own = {each.name for each in analysis.parameters}
    values = {name: given[name] for name in declared if name in given and name in own}
    used = {name for name in values if re.search(rf"\${name}\b", select)}
    found = connection.execute(
        "select run.id, run.name, run.corpus, corpus.name, run.finished is not null"
        " from run inner join corpus on corpus.id = run.corpus"
        f" where run.id in (select chosen.id from ({_filled(select, declared, used)}) as chosen)",
        {name: values[name] for name in used},
    ).fetchall()
    if not found:
        raise _none_fits(connection, path, analysis)
    return Run(*found[0])


def check_relation(
    connection: DuckDBPyConnection, analysis: Analysis, given: Mapping[str, Any], run: Run
) -> None:
    """Raise CallError where a relation is asked for that the corpus does not have.

    Relations are data: an empty answer would hide a slip of the pen.
    """
    asked = given.get("relation")
    if asked is None or asked == "all":
        return
    rows = connection.execute(sql.statement("corpus_relations"), {"corpus": run.corpus}).fetchall()
    kept = [row[0] for row in rows]
    folded = list(dict.fromkeys(name.split(":")[0] for name in kept))
    has_subtypes = any(each.name == "subtypes" for each in analysis.parameters)
    known = kept if given.get("subtypes") or not has_subtypes else folded
    if asked in known:
        return
    if not known:
        raise CallError(
            f"The corpus {run.corpus_name} has no dependency relations.",
            "Ask a run over a corpus with trees.",
        )
    if asked in kept:
        raise CallError(
            f"The relation {asked} is counted with {asked.split(':')[0]}.",
            f"Ask for {asked.split(':')[0]}, or keep the subtypes apart (subtypes).",
        )
    raise CallError(
        f"No word of the corpus {run.corpus_name} has the relation {asked} to its head.",
        f"{did_you_mean(asked, [*known, 'all'])} It has: {listed([*known, 'all'], 60)}.".strip(),
    )


def _filled(select: str, defaults: Mapping[str, str], kept: set[str]) -> str:
    return re.sub(
        r"\$(\w+)",
        lambda found: found[0] if found[1] in kept else defaults.get(found[1], found[0]),
        select,
    )


def _check_named(
    connection: DuckDBPyConnection, path: Path, analysis: Analysis, asked: str
) -> None:
    every = [
        (str(number), name)
        for number, name in connection.execute("select id, name from run order by id").fetchall()
    ]
    fitting = _fitting(connection, analysis)
    names = [name for _, name, _ in fitting]
    if not any(asked in each for each in every):
        raise CallError(
            f"There is no run {asked} in {path}.",
            f"{did_you_mean(asked, [name for _, name in every])} {_fit(analysis, names)}".strip(),
        )
    if not any(asked in (str(number), name) for number, name, _ in fitting):
        raise CallError(
            f"{analysis.name} takes runs with {_condition(analysis)}; {asked} is none.",
            _fit(analysis, names) if names else _how_to_ingest(path, analysis),
        )


def _fitting(connection: DuckDBPyConnection, analysis: Analysis) -> list[tuple[int, str, bool]]:
    """Id, name and whether it is finished of each run that meets the header's condition."""
    condition = registry.runs_condition(analysis) or "true"
    return connection.execute(
        f"select run.id, run.name, run.finished is not null from run where {condition}"
        " order by run.id"
    ).fetchall()


def _none_fits(connection: DuckDBPyConnection, path: Path, analysis: Analysis) -> QueryError:
    fitting = _fitting(connection, analysis)
    takes_run = any(parameters.is_run(each) for each in analysis.parameters)
    if fitting and takes_run:
        names = [f"{name}{'' if done else ' (not finished)'}" for _, name, done in fitting]
        return QueryError(
            f"No run of {path} is one that {analysis.name} takes by itself.",
            f"Name one of these (run): {listed(names)}.",
        )
    return QueryError(
        f"No finished run of {path} has {_condition(analysis)}, as {analysis.name} needs."
        if registry.runs_condition(analysis)
        else f"{path} has no finished run.",
        _how_to_ingest(path, analysis),
    )


def _condition(analysis: Analysis) -> str:
    return (registry.runs_condition(analysis) or "").replace("run.", "")


def _fit(analysis: Analysis, names: list[str]) -> str:
    if not names:
        return f"No run fits {analysis.name}."
    return f"Runs that fit {analysis.name}: {listed(names)}."


def _how_to_ingest(path: Path, analysis: Analysis) -> str:
    """The command that makes a run of the kind that the header's condition asks for."""
    condition = registry.runs_condition(analysis) or ""
    wanted = re.findall(r"run\.(unit|context|subword) (?:= |in \()'(\w+)'", condition)
    options = "".join(
        f" --{option} {value}"
        for option, value in wanted
        if (option, value) not in {("unit", "word"), ("context", "sentence"), ("subword", "mean")}
    )
    return f"Make one: attnbank -b {path} ingest CORPUS{options}"
