"""Which run an analysis reads, and what to type if it can read none.

The choice itself is SQL, the macros `run_fit` and `chosen_run` of every bank, so that every DuckDB
client chooses alike. This file adds the errors for people, and what they should know of a run.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from attnbank.sql import registry
from attnbank.sql.bank.connections import connected
from attnbank.sql.errors import AttnbankWarning, BankError, CallError, QueryError
from attnbank.sql.header import Analysis, RunChoice
from attnbank.sql.relations import without_subtype
from attnbank.sql.suggest import did_you_mean, listed, unknown_name

_IN_PART = "only "
RANDOM = "its weights are random"
MADE = "its text is made of random tokens"
"""Reasons that `run_fit` gives: how one begins for not reading a run that keeps a part of its maps;
for not choosing one by itself."""

_INGESTED = {
    "trees": ("CORPUS (with trees: CoNLL-U, or text with --spacy PIPELINE)", ""),
    "constituents": ("CORPUS (with bracketed trees: CoNLL-2012)", ""),
    "series": ("CORPUS --model FOLDER --series 'step*'", ""),
    "shares": ("CORPUS", " --measure weights"),
    "sums": ("CORPUS --model MODEL (without attention sinks)", ""),
    "mentions": ("CORPUS (with coreference: CoNLL-U with Entity, or CoNLL-2012)", ""),
    "gradients": ("CORPUS", " --context pair --unit token --gradients"),
    "losses": ("CORPUS", " --context pair --unit token --ablate heads"),
}
"""What to ingest, and with which options, for a run that has what an analysis needs."""
_MEASURED = {
    "surprisals": "surprisal RUN",
    "ablations": "ablate NAME --heads LAYER-HEAD",
    "pairs": "surprisal RUN --agreement",
    "ensembles": "compute tree_ensemble --run RUN",
    "decoded_trees": "compute attention_tree --run RUN",
    "spans": "compute attention_span --run RUN",
}
"""What to type where a run is to have what an analysis needs."""


class Asked(Protocol):
    """What answers a SELECT here: a connection of DuckDB, or an export that is open on Spark."""

    def execute(self, query: str, parameters: Any = ..., /) -> Any:
        """Run a statement; the rows are what `fetchall` of the result returns."""


class UnfinishedRunWarning(AttnbankWarning):
    """The run that was asked for is not finished: results cover only its first part."""


@dataclass(frozen=True)
class Run:
    """A run that is read, with the size of its model.

    `among` counts the runs that it was chosen from (1 if the user named it); `numbered` are the
    numbers of the layers that have attention, None for 1 to `layers`. Of each distribution the
    `largest` weights are kept; None for all, or for those that peaks and sums have.
    """

    id: int
    name: str
    corpus: int
    corpus_name: str
    layers: int
    heads: int
    is_finished: bool
    largest: int | None = None
    among: int = 1
    numbered: tuple[int, ...] | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the layers that have attention, which a hybrid has in some of all."""
        return self.numbered or tuple(range(1, self.layers + 1))

    def has(self, layer: int | None, head: int | None) -> bool:
        """Whether its model has this head; None stands for any."""
        return layer in (None, *self.numbers) and (head is None or 1 <= head <= self.heads)

    @property
    def size(self) -> str:
        """Its layers and heads in words: 3 layers of 4 heads: 1-1 to 3-4."""
        which = "" if self.numbered is None else f" ({listed(map(str, self.numbered), 20)})"
        ends = f"{self.numbers[0]}-1 to {self.numbers[-1]}-{self.heads}"
        return f"{self.layers} layers{which} of {self.heads} heads: {ends}"


@dataclass(frozen=True)
class Fit:
    """A run, and why an analysis cannot read it (`misfit`), or only if named (`reserve`)."""

    id: int
    name: str
    misfit: str | None
    reserve: str | None


def _with_reasons(fits: list[Fit], most: int = 20) -> str:
    """The names of runs, at most so many for a reason, each followed by what is against them."""
    reasons: dict[str | None, list[str]] = {}
    for fit in fits:
        reasons.setdefault(fit.misfit or fit.reserve, []).append(fit.name)
    return ", ".join(
        listed(names, most)
        + ("" if reason is None else f" ({'each: ' * (len(names) > 1)}{reason})")
        for reason, names in reasons.items()
    )


def choose_run(
    connection: Asked, path: Path, analysis: Analysis, given: Mapping[str, Any]
) -> Run | None:
    """The run that the analysis reads with these values; None if it does not read exactly one run.

    Raises CallError if the run that is asked for is unknown or does not fit, QueryError if none is
    asked for and none fits. `path` is the bank, for the errors.
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
    """How an analysis of one run chooses it with these values; the result has no parameter."""
    choice = analysis.run
    assert choice is not None
    if choice.weights in (None, "true", "largest"):
        return choice
    # It reads no table: for Spark an empty database tells.
    from duckdb import DuckDBPyConnection  # not at the top: requests are compiled without DuckDB

    asked = connection if isinstance(connection, DuckDBPyConnection) else connected()
    (condition,) = asked.extract_statements(f"select {choice.weights}")
    named = condition.named_parameters
    values = {name: value for name, value in (given or {}).items() if name in named}
    for each in analysis.parameters:
        if each.name in named and each.name not in values:
            default = asked.execute(f"select cast({each.default} as {each.type})").fetchall()
            values[each.name] = default[0][0]
    found = asked.execute(condition, values).fetchall()
    return replace(choice, weights="true" if found == [(True,)] else None)


def chosen_run(connection: Asked, choice: RunChoice, asked: str | None, among: int = 1) -> Run:
    """The run `asked` for, which exists, or, if None, the bank's choice; BankError if damaged."""
    found = connection.execute(
        "select run.id, run.name, run.corpus, corpus.name, model.layers,"
        " coalesce(run.heads, model.heads), run.finished is not null, top_run.largest,"
        " model.layer_numbers"
        f" from chosen_run(asked := $asked, {_arguments(choice)}) as chosen"
        " inner join run on run.id = chosen.id"
        " inner join corpus on corpus.id = run.corpus"
        " inner join model on model.id = run.model"
        " left join top_run on top_run.run = chosen.id and not top_run.is_whole",
        {"asked": asked},
    ).fetchall()
    if len(found) != 1:
        raise BankError(
            "The bank is damaged: a run, its corpus and its model do not belong together.",
            "Use an intact copy of it, or ingest again into a new file (-b FILE).",
        )
    *columns, numbers = found[0]
    numbered = None if numbers is None else tuple(numbers)
    return replace(Run(*columns), among=among, numbered=numbered)


def run_fits(connection: Asked, choice: RunChoice) -> list[Fit]:
    """Every run, by id, with what speaks against reading it; for a choice that is `settled`."""
    without = replace(choice, favours=None)
    rows = connection.execute(
        "select fit.id, fit.name, fit.misfit, fit.reserve"
        f" from run_fit({_arguments(without)}) as fit order by fit.id"
    ).fetchall()
    return [Fit(*row) for row in rows]


def _arguments(choice: RunChoice) -> str:
    return ", ".join(f"{name} := {value}" for name, value in choice.arguments.items())


def check_relation(
    connection: Asked, analysis: Analysis, given: Mapping[str, Any], run: Run
) -> None:
    """Raise CallError if a relation is asked for that is neither in the corpus nor saved."""
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
    folded = list(dict.fromkeys(without_subtype(name) for name in kept))
    has_subtypes = any(each.name == "subtypes" for each in analysis.parameters)
    known = kept if given.get("subtypes") or not has_subtypes else folded
    if asked in known:
        return
    if asked in kept:
        raise CallError(
            f"The relation {asked} is counted with {asked.split(':')[0]}.",
            f"Ask for {asked.split(':')[0]}, or keep subtypes apart: --subtypes, subtypes=True.",
        )
    raise CallError(
        f"No word of the corpus {run.corpus_name} has the relation {asked} to its head.",
        f"{did_you_mean(asked, [*known, 'all'])} It has: {listed([*known, 'all'], 60)}.".strip(),
    )


def _check_named(
    path: Path, analysis: Analysis, fits: list[Fit], asked: str, *, is_read: bool
) -> None:
    found = [each for each in fits if asked in (str(each.id), each.name)]
    if not found:
        raise unknown_name("run", asked, path, [each.name for each in fits])
    if is_read and all(each.misfit is not None for each in found):
        able = [each.name for each in fits if each.misfit is None]
        raise CallError(
            f"{analysis.name} cannot read the run {asked}: {found[0].misfit}.",
            f"Runs that fit {analysis.name}: {listed(able)}."
            if able
            else _how_to_ingest(path, analysis, fits),
        )


def _none_fits(path: Path, analysis: Analysis, fits: list[Fit]) -> QueryError:
    able = [each for each in fits if each.misfit is None]
    if able:
        # Any run over words tells of syntax, but what is about documents is another thing in one of
        # single sentences: there a name would only give other figures.
        over = None if analysis.run is None else analysis.run.usual
        usual = [
            each
            for each in able
            if over == "sentence" or not (each.reserve or "").startswith("its inputs are")
        ]
        fact = f"No run of {path} is one that {analysis.name} takes by default"
        if usual:
            return QueryError(
                f"{fact}.", f"Name one of these (--run, run=): {_with_reasons(usual)}."
            )
        fact += f": {_with_reasons(able, 8)}."
    elif fits:
        unfit = _with_reasons(fits, 8)
        fact = f"No run in {path} is suitable for {analysis.name}: {unfit}."
    else:
        fact = f"{path} has no run."
    return QueryError(fact, _how_to_ingest(path, analysis, fits))


def _how_to_ingest(path: Path, analysis: Analysis, fits: list[Fit]) -> str:
    choice = analysis.run
    assert choice is not None
    if choice.needs in _MEASURED and fits:
        return f"Type: attnbank -b {shlex.quote(str(path))} {_MEASURED[choice.needs]}"
    corpus, options = _INGESTED.get(choice.needs or "", ("CORPUS", ""))
    if choice.usual not in (None, "sentence"):
        options += f" --context {choice.usual}"
    if any((each.misfit or "").startswith(_IN_PART) for each in fits):
        options += " --keep weights"
    return f"Make one: attnbank -b {shlex.quote(str(path))} ingest{options} {corpus}"


def conduct_lines(
    batching: str | None,
    sinks: bool | None,
    layers: Sequence[int] | None,
    sliding_window: int | None = None,
) -> list[str]:
    """What people should know of how a model attends: columns of `run` and `model`, as lines."""
    lines = []
    if layers is not None:
        lines.append(f"only layers {', '.join(map(str, layers))} of the model have attention")
    if sinks:
        lines.append(
            "its heads also attend to something that is not a position (a sink), so that rows of"
            " attention sum to less than 1 (query missing_attention)"
        )
    if sliding_window is not None:
        lines.append(
            f"in some layers or all a token sees no farther than {sliding_window:,} tokens (a"
            " sliding window): in longer inputs the chances of analyses are those of full sight"
        )
    if batching == "equal":
        lines.append("padding changes its attention: only inputs of one length went together")
    if batching == "single":
        lines.append("other inputs in a batch change its attention: each input went alone")
    return lines
