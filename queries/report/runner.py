"""Run the sections of a report on a bank: which run answers each, its rows, or what to type."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from attnbank.queries import contents, pictures
from attnbank.queries.answers import Answer, AnyBank
from attnbank.queries.drawing import Drawing
from attnbank.queries.patterns.scoring import control_runs
from attnbank.queries.report.outline import (
    ComparedSide,
    Missing,
    Section,
    SectionAnswer,
    SectionPicture,
    compare,
)
from attnbank.queries.requests import Requests
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankError, AttnbankWarning, CallError, QueryError
from attnbank.sql.header import Analysis
from attnbank.sql.run_choice import Candidate, resolve_weights, run_candidates

CONTROL = "compare_runs"
_RUNS = ("run", "run_a", "run_b", "test_run")


@dataclass(frozen=True)
class ReportRun:
    """A run that a section may read; `corpus` and `model` are ids."""

    id: int
    name: str
    model: int
    corpus: int
    context: str
    unit: str
    is_finished: bool
    is_whole: bool
    is_preferred: bool


@dataclass(frozen=True)
class Subject:
    """What a report is about: its main run (None: there is none), and whether it was named.

    `is_causal` is of the model of that run.
    """

    main: ReportRun | None
    is_named: bool
    runs: tuple[ReportRun, ...]
    is_causal: bool = False


def subject(bank: AnyBank, run: str | int | None = None) -> Subject:
    """What a report on a bank is about: `run` (name or id), else the run that best_head reads.

    Without that it is the newest finished run. Raises CallError if there is no such run, or if its
    positions are not words, which the sections on syntax read.
    """
    with bank.backend.answering():
        rows = bank.backend.internal("sections/runs")
    runs = tuple(ReportRun(*row) for row in rows.iter_rows())
    try:
        usual = bank.run_of("best_head", run=None if run is None else str(run))
    except QueryError:
        if run is not None:
            raise
        finished = [run for run in runs if run.is_finished]
        main = max(finished, key=lambda run: (run.is_whole, run.id), default=None)
    else:
        main = next(run for run in runs if usual is not None and run.id == usual.id)
    if main is None:
        return Subject(None, run is not None, runs)
    with bank.backend.answering():
        facts = bank.backend.internal("sentences/run_facts", run=main.id)
    return Subject(main, run is not None, runs, bool(facts["is_causal"][0]))


def answer_section(
    bank: Requests, section: Section, of: Subject, *, fresh: bool = False
) -> SectionAnswer | Missing:
    """Answer a section, or say why the bank cannot and what to type. Raises BankError."""
    analysis = registry.find_analysis(section.analysis)
    beside: list[str] = []
    if of.main is not None:
        with bank.backend.answering():
            beside = control_runs(bank, of.main.name)
    if section.analysis == CONTROL and (of.main is None or not beside):
        why = "The bank has no finished run of random weights to compare the main run with."
        return Missing(section, why, _ingest(bank, of, ("--random-weights", "1..5")))
    try:
        if section.analysis == CONTROL and of.main is not None:
            run = {"run_a": of.main.name, "run_b": beside[0]}
        else:
            run = _run_for(bank, analysis, of)
        values = {**section.values, **run, **_control_of(bank, analysis, run)}
        answer = bank.answer(analysis.name, values, fresh=fresh)
        rows = answer.rows
        if not rows.height:
            why = analysis.empty or "nothing matches"
            raise QueryError(f"{analysis.name} has no rows: {why}.")
    except (CallError, QueryError) as error:
        return Missing(section, _public(bank, error.fact), _remedy(bank, analysis, error, of))
    compared = None
    if section.published is not None:
        with suppress(CallError, QueryError):  # it may need more than the section itself
            compared = compare(bank, section.published, run, beside, fresh=fresh)
    return SectionAnswer(
        section=section,
        title=analysis.title,
        runs=pictures.runs_named(rows, _RUNS),
        rows=rows,
        statement=analysis.text,
        command=_query(bank, "query", analysis.name, values),
        drawn=_draw_section(bank, section, answer, values),
        comparison=compared,
        kept=None if answer.cached is None else answer.cached.finished,
        rule=_rule(bank, analysis, run, of),
    )


def _control_of(bank: AnyBank, analysis: Analysis, run: Mapping[str, Any]) -> dict[str, str]:
    """The control run of the run that answers, for an analysis that shows one beside it."""
    if all(parameter.name != "control_run" for parameter in analysis.parameters):
        return {}
    answering_run = bank.run_of(analysis.name, **run)
    if answering_run is None:
        return {}
    with bank.backend.answering():
        controls = control_runs(bank, answering_run.name)
    return {"control_run": controls[0]} if controls else {}


def _rule(bank: AnyBank, analysis: Analysis, values: Mapping[str, Any], of: Subject) -> str:
    """Why this run answered; empty if the analysis does not read exactly one."""
    if analysis.run is None:
        return ""
    if "run" in values:
        is_main = of.main is not None and values["run"] == of.main.name
        return "named" if is_main and of.is_named else "the one of the main run's model that fits"
    answering_run = bank.run_of(analysis.name)
    candidates = _candidates(bank, analysis)
    able = {candidate.id for candidate in candidates if candidate.may_be_default}
    if answering_run is None or len(able) == 1:
        return "the only one that fits"
    usable = {run.id: run for run in of.runs if run.id in able}
    chosen = usable[answering_run.id]
    if chosen.is_preferred:
        return "preferred in this bank, attnbank use"
    others = [run for run in usable.values() if not run.is_preferred]
    if analysis.run.favours == f"{chosen.context}/{chosen.unit}":
        others = [run for run in others if (run.context, run.unit) == (chosen.context, chosen.unit)]
        kind = f" over {'pairs of segments' if chosen.context == 'pair' else f'{chosen.context}s'}"
    else:
        kind = ""
    if chosen.is_whole and not all(run.is_whole for run in others):
        kind += " over a whole corpus"
    return f"the newest{kind} of {len(able)} that fit"


def side_by_side(
    bank: Requests, side: ComparedSide, subjects: Sequence[Subject], *, fresh: bool = False
) -> pl.DataFrame | None:
    """A row for each thing, a column for the run of each subject; None where none has an answer.

    Cells are text: a figure, with its head in brackets, as many decimals as tables have.
    """
    columns: list[str] = []
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for of in subjects:
        assert of.main is not None, "a run that was named is there"
        columns.append(of.main.name)
        analysis = registry.find_analysis(side.analysis)
        try:
            values = _run_for(bank, analysis, of)
            frame = bank.answer(side.analysis, values, fresh=fresh).rows
        except (CallError, QueryError):
            continue
        rows: list[tuple[tuple[str, ...], Any, str]]
        if side.values:
            rows = [((name.replace("_", " "),), frame[name].mean(), "") for name in side.values]
        else:
            rows = [
                (tuple("" if row[key] is None else str(row[key]) for key in side.keys),
                 row[side.value],
                 "-".join(str(row[column]) for column in side.named if row[column] is not None))
                for row in frame.iter_rows(named=True)
            ]  # fmt: skip
        for key, value, named in rows:
            if isinstance(value, float):
                cell = f"{value:.3f} ({named})" if named else f"{value:.3f}"
                cells.setdefault(key, {})[of.main.name] = cell
    if not cells:
        return None
    keys = ("measure",) if side.analysis == "entropy" else side.keys or ("attention to",)
    lines = [(*key, *map(of_key.get, columns)) for key, of_key in cells.items()]
    schema = dict.fromkeys((*keys, *columns), pl.String)
    return pl.DataFrame(lines, schema=schema, orient="row")


def plain_model(name: str) -> str:
    """A model as a page for others has it: of a folder of its author's disk the last part."""
    return Path(name).name if Path(name).is_absolute() else name


def _run_for(bank: AnyBank, analysis: Analysis, of: Subject) -> dict[str, Any]:
    """The value of the parameter `run` for an analysis; empty if its own choice is right.

    That is one of the report's model. If the report's run was named, the choice is as if the bank
    preferred it (attnbank use), then a run over the same corpus. Raises as `Bank.run_of`.
    """
    main, choice = of.main, analysis.run
    if choice is None or main is None:
        return {}
    if choice.needs == "trees":
        return {"run": main.name} if of.is_named else {}
    default, why = None, None
    try:
        chosen = bank.run_of(analysis.name)
        default = next((run for run in of.runs if chosen is not None and run.id == chosen.id), None)
    except (CallError, QueryError) as error:
        why = error
    if not of.is_named and default is not None and default.model == main.model:
        return {}
    candidates = _candidates(bank, analysis)
    able = {candidate.id for candidate in candidates if candidate.unusable_because is None}
    same = [
        run
        for run in of.runs
        if run.id in able
        and run.model == main.model
        and run.is_finished
        and choice.usual in (None, run.context)
    ]
    if not same:
        if why is not None:
            raise why
        return {}
    best = max(
        same,
        key=lambda run: (
            run.is_preferred or (of.is_named and run.id == main.id),
            choice.favours == f"{run.context}/{run.unit}",
            of.is_named and run.id == main.id,
            run.corpus == main.corpus,
            run.is_whole,
            run.id,
        ),
    )
    return {} if best == default else {"run": best.name}


def _candidates(bank: AnyBank, analysis: Analysis) -> list[Candidate]:
    """The runs that an analysis might read, with what speaks against each."""
    connection = bank.backend.connection
    with bank.backend.answering():
        return run_candidates(connection, resolve_weights(connection, analysis))


def _draw_section(
    bank: Requests, section: Section, answer: Answer, values: dict[str, Any]
) -> SectionPicture | None:
    pictured = registry.find_analysis(section.picture)
    if pictured.plot is None:
        return None
    try:
        if pictured.name != section.analysis:
            accepted = {parameter.name for parameter in pictured.parameters}
            values = {name: value for name, value in values.items() if name in accepted}
            answer = bank.answer(pictured.name, values, fresh=answer.is_fresh)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AttnbankWarning)  # an unfinished run is told elsewhere
            picture = Drawing(bank, answer).in_theme()
    except (CallError, QueryError):
        return None  # too many panels, or nothing that has a place: the table says it all
    command = _query(bank, "plot", pictured.name, values, "-o", f"{pictured.name}.svg")
    return SectionPicture(pictured.name, answer.rows, command, picture)


# The placeholder of a command for a corpus that only the reader knows.
PLACE = "CORPUS"
_OPTIONS = {
    "gradients": ("--context", "pair", "--unit", "token", "--gradients"),
    "losses": ("--context", "pair", "--unit", "token", "--ablate", "heads"),
    "mentions": ("--context", "document"),
}

# The packaged model has no language-model head; commands for losses name this one instead.
_WITH_LOSS = {"minilm": "google-bert/bert-base-uncased"}


def _command(bank: AnyBank, *words: str) -> str:
    return shlex.join(["attnbank", "-b", bank.path.name, *words])


def _query(bank: AnyBank, verb: str, name: str, values: Mapping[str, Any], *more: str) -> str:
    options: list[str] = []
    for option, value in values.items():
        flag = option.replace("_", "-")
        if isinstance(value, bool):
            options.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            options += [f"--{flag}", str(value)]
    return _command(bank, verb, name, *options, *more)


def _remedy(bank: AnyBank, analysis: Analysis, error: AttnbankError, of: Subject) -> str:
    """The command after which the bank can answer an analysis; else what the error says."""
    typed = _public(bank, error.remedy.partition("Type: ")[2])
    if analysis.run is None or " compute " in typed:
        return _probe(bank, of) if " probe " in typed else typed or error.remedy
    if of.main is None:
        return typed or _command(bank, "ingest", PLACE)
    needs = analysis.run.needs
    return _ingest(bank, of, _OPTIONS.get(needs or "", ()), needs)


def _ingest(
    bank: AnyBank, of: Subject, options: tuple[str, ...] = (), needs: str | None = None
) -> str:
    """The command for another run of the model, over a corpus that has what it `needs`."""
    if of.main is None:
        return _command(bank, "ingest", PLACE)
    with bank.backend.answering():
        bank_contents = contents.summarize_bank(bank.backend)
    name = bank_contents.models.filter(id=of.main.model)["name"][0]
    if needs in ("gradients", "losses"):
        name = _WITH_LOSS.get(name, name)
    corpus = _corpora_with(bank, bank_contents.corpora, of.main.corpus, needs)
    return _command(bank, "ingest", *corpus, "--model", plain_model(name), *options)


def _public(bank: AnyBank, text: str) -> str:
    """A text of an error without the folder of its author's disk."""
    return text.replace(str(bank.path), bank.path.name)


def _corpora_with(bank: AnyBank, corpora: pl.DataFrame, main: int, needs: str | None) -> list[str]:
    rows = sorted(corpora.to_dicts(), key=lambda row: (row["id"] != main, -row["id"]))
    for row in rows:
        if needs == "mentions" and not row["mentions"]:
            continue
        if needs == "trees":
            relations = bank.backend.internal("corpus_relations", corpus=row["id"])
            if not relations.height:
                continue
        paths = [line for line in row["path"].split("\n") if line]
        if paths and not any(path.startswith("-") for path in paths):
            return [Path(path).name for path in paths]
    return [PLACE]


def _probe(bank: AnyBank, of: Subject) -> str:
    kind = [run for run in of.runs if (run.context, run.unit) == ("sentence", "word")]
    test = of.main if of.main in kind else None
    others = [
        run
        for run in kind
        if test is not None and run.model == test.model and run.corpus != test.corpus
    ]
    train = others[-1].name if others else "RUN"
    names = ("--train-run", train, "--test-run", test.name if test else "RUN")
    return _command(bank, "probe", "attention", *names)
