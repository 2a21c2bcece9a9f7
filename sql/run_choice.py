"""Runs: find the one that a user names, or choose the one that an analysis reads by default.

The choice itself is SQL: the macros `run_candidate`, `chosen_run` and `how_to_make` of every bank,
so that every DuckDB client chooses alike. This file adds errors that name the analysis and the
bank, and notes on how the model of a run attends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

from attnbank.sql import registry
from attnbank.sql.bank.connections import connected
from attnbank.sql.errors import (
    FINISH_IT,
    AttnbankError,
    AttnbankWarning,
    BankError,
    CallError,
    QueryError,
)
from attnbank.sql.header import Analysis, RunChoice
from attnbank.sql.messages import did_you_mean, join_names, to_type, unknown_name
from attnbank.sql.names import without_subtype


class SupportsExecute(Protocol):
    """What runs a SELECT: a connection of DuckDB, or an export that is open on Spark."""

    def execute(self, query: str, parameters: Any = ..., /) -> Any:
        """Run a statement; the rows are what `fetchall` of the result returns."""


class UnfinishedRunWarning(AttnbankWarning):
    """The requested run is not finished: results cover only its first part."""


@dataclass(frozen=True)
class Run:
    """The run that an analysis reads, with the size of its model.

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
        which = "" if self.numbered is None else f" ({join_names(map(str, self.numbered), 20)})"
        ends = f"{self.numbers[0]}-1 to {self.numbers[-1]}-{self.heads}"
        return f"{self.layers} layers{which} of {self.heads} heads: {ends}"


def find_run(connection: SupportsExecute, bank: str | Path, named: str | int) -> tuple[int, str]:
    """The id and the name of the run with this name, or else this id; CallError if none has it."""
    runs: list[tuple[int, str]] = connection.execute(
        "select id, name from run order by id"
    ).fetchall()
    return _run_named(runs, bank, str(named))


def _run_named(runs: Sequence[tuple[int, str]], bank: str | Path, named: str) -> tuple[int, str]:
    # A run may have the id of another one as its name: the name counts, as in chosen_run.sql.
    matches = [run for run in runs if run[1] == named] or [
        run for run in runs if str(run[0]) == named
    ]
    if not matches:
        raise unknown_name("run", named, bank, [name for _, name in runs])
    return matches[0]


def find_corpus(
    connection: SupportsExecute, bank: str | Path, named: str, more: str = ""
) -> tuple[int, str]:
    """The id and the name of the corpus with this name; CallError if none has it.

    `more` ends what the error says.
    """
    corpora: dict[str, int] = dict(
        connection.execute("select name, id from corpus order by id").fetchall()
    )
    if named not in corpora:
        raise unknown_name("corpus", named, bank, corpora, more)
    return corpora[named], named


@dataclass(frozen=True)
class Candidate:
    """A run, and why an analysis cannot read it, or only if it is named.

    The fields are columns of the macro `run_candidate`.
    """

    id: int
    name: str
    context: str
    is_finished: bool
    is_usual: bool
    lacks_weights: bool
    unusable_because: str | None
    not_default_because: str | None

    @property
    def may_be_default(self) -> bool:
        """Whether the analysis may read it without it being named."""
        return self.unusable_because is None and self.not_default_because is None


def with_reasons(candidates: list[Candidate], most: int = 20) -> str:
    """The names of runs, at most so many for a reason, each followed by what is against them."""
    reasons: dict[str | None, list[str]] = {}
    for candidate in candidates:
        reason = candidate.unusable_because or candidate.not_default_because
        reasons.setdefault(reason, []).append(candidate.name)
    return ", ".join(
        join_names(names, most)
        + ("" if reason is None else f" ({'each: ' * (len(names) > 1)}{reason})")
        for reason, names in reasons.items()
    )


def choose_run(
    connection: SupportsExecute,
    path: Path,
    choice: RunChoice,
    reader: str,
    requested: str | int | None = None,
    others: Sequence[str] = (),
) -> Run:
    """Choose the run that `reader`, an analysis or a command, reads: `requested`, or the default.

    `choice` has no parameter (see `resolve_weights`); `others` are further runs that must exist.
    Raises CallError if a run that is named is unknown, or `requested` does not fit; QueryError if
    none is requested and none fits. `path` is the bank, for the errors.
    """
    candidates = run_candidates(connection, choice)
    names = [(candidate.id, candidate.name) for candidate in candidates]
    for other in others:
        _run_named(names, path, other)
    able = [candidate for candidate in candidates if candidate.unusable_because is None]
    if requested is not None:
        id, _ = _run_named(names, path, str(requested))
        (run,) = (candidate for candidate in candidates if candidate.id == id)
        if run in able:
            return read_run(connection, id)
        raise CallError(
            f"{reader} cannot read the run {requested}: {run.unusable_because}.",
            f"Runs that fit {reader}: {join_names(candidate.name for candidate in able)}."
            if able
            else _how_to_make(connection, path, choice, candidates),
        )
    usable = [candidate for candidate in able if candidate.may_be_default]
    if usable:
        return chosen_run(connection, choice, None, len(usable))
    raise _no_default_run(connection, path, choice, reader, candidates)


def _no_default_run(
    connection: SupportsExecute,
    path: Path,
    choice: RunChoice,
    reader: str,
    candidates: list[Candidate],
) -> QueryError:
    """The error of `choose_run` where no run may be the default."""
    able = [candidate for candidate in candidates if candidate.unusable_because is None]
    # Any run over words tells of syntax, but what is about documents is another thing in one of
    # single sentences: there a name would only give other figures.
    usual = [candidate for candidate in able if candidate.is_usual]
    fact = f"{path} has no run that {reader} uses by default"
    if usual:
        return QueryError(f"{fact}.", f"Name one of these (--run, run=): {with_reasons(usual)}.")
    if able:
        fact += f": {with_reasons(able, 8)}."
    elif candidates:
        fact = f"No run in {path} is suitable for {reader}: {with_reasons(candidates, 8)}."
    else:
        fact = f"{path} has no run."
    return QueryError(fact, _how_to_make(connection, path, choice, candidates))


def choose_finished_run(
    connection: SupportsExecute,
    path: Path,
    choice: RunChoice,
    reader: str,
    requested: str | int | None = None,
) -> Run:
    """Choose the run to measure as `choose_run` does. Also raises CallError if it is unfinished."""
    run = choose_run(connection, path, choice, reader, requested)
    if not run.is_finished:
        raise CallError(f"The run {run.name} is unfinished.", FINISH_IT)
    return run


def _how_to_make(
    connection: SupportsExecute, path: Path, choice: RunChoice, candidates: list[Candidate]
) -> str:
    """The command that makes a run that fits a choice."""
    values = {
        "needs": choice.needs,
        "usual": choice.usual,
        "has_runs": bool(candidates),
        "lacks_weights": any(candidate.lacks_weights for candidate in candidates),
    }
    ((command,),) = connection.execute(
        "select how_to_make($needs, $usual, $has_runs, $lacks_weights)", values
    ).fetchall()
    return to_type(path, command)


def choose_analysis_run(
    connection: SupportsExecute, path: Path, analysis: Analysis, values: Mapping[str, Any]
) -> Run | None:
    """As `choose_run`, for an analysis with these values; None if it reads not exactly one run."""
    named = [parameter.name for parameter in analysis.parameters if parameter.names_run]
    others = [str(values[name]) for name in named if name != "run" and values.get(name) is not None]
    if analysis.run is None:  # its SQL chooses among the runs; that they exist is checked here
        for other in others:
            find_run(connection, path, other)
        return None
    choice = resolve_weights(connection, analysis, values)
    return choose_run(connection, path, choice, analysis.name, values.get("run"), others)


def resolve_weights(
    connection: SupportsExecute, analysis: Analysis, values: Mapping[str, Any] | None = None
) -> RunChoice:
    """How an analysis of one run chooses it with these values; the result has no parameter."""
    choice = analysis.run
    assert choice is not None
    if choice.weights in (None, "true", "largest"):
        return choice
    # The condition reads no table, so that an empty database can evaluate it for Spark.
    from duckdb import DuckDBPyConnection  # not at the top: requests are compiled without DuckDB

    database = connection if isinstance(connection, DuckDBPyConnection) else connected()
    (condition,) = database.extract_statements(f"select {choice.weights}")
    named = condition.named_parameters
    bound = {name: value for name, value in (values or {}).items() if name in named}
    for parameter in analysis.parameters:
        if parameter.name in named and parameter.name not in bound:
            default = f"select cast({parameter.default} as {parameter.type})"
            ((bound[parameter.name],),) = database.execute(default).fetchall()
    reads_weights = database.execute(condition, bound).fetchall() == [(True,)]
    return replace(choice, weights="true" if reads_weights else None)


# The fields of Run, of the rows `chosen` of a FROM clause.
_RUN = """run.id, run.name, run.corpus, corpus.name, model.layers, coalesce(run.heads, model.heads),
    run.finished is not null, top_run.largest, model.layer_numbers"""
_OF_CHOSEN = """inner join run on run.id = chosen.id
    inner join corpus on corpus.id = run.corpus
    inner join model on model.id = run.model
    left join top_run on top_run.run = chosen.id and not top_run.is_whole"""
_CANDIDATE = ", ".join(f"candidate.{field.name}" for field in fields(Candidate))


def chosen_run(
    connection: SupportsExecute, choice: RunChoice, requested: str | None, among: int = 1
) -> Run:
    """The run `requested`, which exists, or, if None, the default; BankError if damaged."""
    chosen = f"chosen_run(requested := $requested, {_arguments(choice)}) as chosen"
    rows = connection.execute(
        f"select {_RUN} from {chosen} {_OF_CHOSEN}", {"requested": requested}
    ).fetchall()
    return _run_of(rows, among)


def read_run(connection: SupportsExecute, id: int) -> Run:
    """The run with this id, which exists; BankError if damaged."""
    rows = connection.execute(
        f"select {_RUN} from run as chosen {_OF_CHOSEN} where chosen.id = $id", {"id": id}
    ).fetchall()
    return _run_of(rows)


def _run_of(rows: Sequence[Sequence[Any]], among: int = 1) -> Run:
    if len(rows) != 1:
        raise BankError(
            "The bank is damaged: a run, its corpus and its model do not belong together.",
            "Use an intact copy of it, or ingest again into a new file (-b FILE).",
        )
    *columns, numbers = rows[0]
    numbered = None if numbers is None else tuple(numbers)
    return replace(Run(*columns), among=among, numbered=numbered)


def run_candidates(connection: SupportsExecute, choice: RunChoice) -> list[Candidate]:
    """Every run, by id, and why it cannot be read; for a choice that has no parameter."""
    rows = connection.execute(
        f"select {_CANDIDATE} from run_candidate({_arguments(replace(choice, favours=None))})"
        " as candidate order by candidate.id"
    ).fetchall()
    return [Candidate(*row) for row in rows]


def _arguments(choice: RunChoice) -> str:
    return ", ".join(f"{name} := {value}" for name, value in choice.arguments.items())


def default_runs(
    connection: SupportsExecute, path: Path, analyses: Iterable[Analysis]
) -> dict[str, tuple[Run | AttnbankError, list[str]]]:
    """What `choose_run` chooses by default for each analysis of one run, or its error, by name.

    Beside it stand the names of all runs that the analysis can read. Two statements call the macros
    for all choices, which costs as much as for one of them; Spark cannot do that.
    """
    choices = {
        analysis.name: resolve_weights(connection, analysis)
        for analysis in analyses
        if analysis.run is not None
    }
    of_choices = _rows_of_choices(
        connection, choices.values(), "run_candidate", "candidate", _CANDIDATE
    )
    candidates = {
        choice: [Candidate(*row) for row in sorted(rows)] for choice, rows in of_choices.items()
    }
    usable = {
        choice: among
        for choice, candidates_of_choice in candidates.items()
        if (among := sum(run.may_be_default for run in candidates_of_choice))
    }
    chosen = _rows_of_choices(connection, usable, "chosen_run", "chosen", _RUN, _OF_CHOSEN)
    runs: dict[RunChoice, Run | AttnbankError] = {}
    for choice, among in usable.items():
        try:
            runs[choice] = _run_of(chosen[choice], among)
        except BankError as error:
            runs[choice] = error
    return {
        name: (
            runs.get(choice) or _no_default_run(connection, path, choice, name, candidates[choice]),
            [run.name for run in candidates[choice] if run.unusable_because is None],
        )
        for name, choice in choices.items()
    }


# The parameters of the macro `chosen_run`, but `requested`.
_TYPES = {
    "unit": "varchar", "contexts": "varchar[]", "needs": "varchar", "usual": "varchar",
    "reads_weights": "boolean", "reads_largest": "boolean", "favours": "varchar",
}  # fmt: skip


def _rows_of_choices(
    connection: SupportsExecute,
    choices: Iterable[RunChoice],
    macro: str,
    alias: str,
    columns: str,
    joins: str = "",
) -> dict[RunChoice, list[Any]]:
    """The rows of a macro that takes the arguments of a choice, for several choices."""
    rows: dict[RunChoice, list[Any]] = {choice: [] for choice in choices}
    if not rows:
        return rows
    names = [name for name in _TYPES if name != "favours" or macro == "chosen_run"]
    values = ", ".join(
        f"({', '.join([str(number), *(choice.arguments.get(name, 'null') for name in names)])})"
        for number, choice in enumerate(rows)
    )
    typed = ", ".join(f"cast({name} as {_TYPES[name]}) as {name}" for name in names)
    arguments = ", ".join(f"{name} := choice.{name}" for name in names)
    numbered = [*rows]
    for number, *row in connection.execute(
        f"with choice as (select number, {typed} from (values {values})"
        f" as given (number, {', '.join(names)})) select choice.number, {columns}"
        f" from choice, {macro}({arguments}) as {alias} {joins}"
    ).fetchall():
        rows[numbered[number]].append(row)
    return rows


def check_relation(
    connection: SupportsExecute, analysis: Analysis, values: Mapping[str, Any], run: Run | None
) -> None:
    """Raise CallError if a relation is requested that is neither in the corpus nor saved.

    Without a run the corpora are all of the bank.
    """
    relation = values.get("relation")
    if relation is None or relation == "all":
        return
    rows = connection.execute(
        registry.internal_statement("corpus_relations"), {"corpus": run and run.corpus}
    ).fetchall()
    if analysis.name != "probe_accuracy":  # a probe's words were chosen when it was trained
        saved = connection.execute("select distinct relation from saved_pair").fetchall()
        if (relation,) in saved:
            return
    unfolded = [row[0] for row in rows]
    folded = list(dict.fromkeys(without_subtype(name) for name in unfolded))
    has_subtypes = any(parameter.name == "subtypes" for parameter in analysis.parameters)
    known = unfolded if values.get("subtypes") or not has_subtypes else folded
    if relation in known:
        return
    if relation in unfolded:
        raise CallError(
            f"The relation {relation} is counted as {relation.split(':')[0]}.",
            f"Ask for {relation.split(':')[0]}, or keep subtypes apart: --subtypes, subtypes=True.",
        )
    raise unknown_relation(relation, run, known)


def unknown_relation(relation: str, run: Run | None, known: Sequence[str]) -> CallError:
    """The error of a relation that is not one of those `known` in the corpus of a run."""
    names = [*known, "all"]
    place = "bank" if run is None else f"corpus {run.corpus_name}"
    return CallError(
        f"No word of the {place} has the relation {relation} to its head.",
        f"{did_you_mean(relation, names)} It has: {join_names(names, 60)}.".strip(),
    )


def behaviour_lines(
    batching: str | None,
    sinks: bool | None,
    layers: Sequence[int] | None,
    sliding_window: int | None = None,
) -> list[str]:
    """Notes on how a model attends, from columns of `run` and `model`, one line each."""
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
            f"in some or all layers a token sees no farther than {sliding_window:,} tokens (a"
            " sliding window): in longer inputs, analyses use the chance levels of full attention"
        )
    if batching == "equal":
        lines.append("padding changes its attention: only inputs of equal length share a batch")
    if batching == "single":
        lines.append("other inputs in a batch change its attention: each input has its own batch")
    return lines
