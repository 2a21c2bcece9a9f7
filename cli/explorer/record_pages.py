"""The records that the explorer answers with: those of a bank that is open, with its caches."""

from __future__ import annotations

from typing import Any

from attnbank.cli.explorer.bank_cache import collecting_warnings
from attnbank.cli.explorer.request import RequestContext
from attnbank.cli.viewer import records
from attnbank.queries import parameters
from attnbank.queries.sentences.choosing import layer_and_head
from attnbank.sql import run_choice
from attnbank.sql.errors import AttnbankError, BankError, CallError
from attnbank.sql.header import RunChoice
from attnbank.sql.names import DIRECTIONS
from attnbank.sql.registry import find_analysis
from attnbank.sql.run_choice import Run


def bank(context: RequestContext) -> dict[str, Any]:
    """The bank and its runs."""

    def make() -> dict[str, Any]:
        runs = [_run(context, str(number)) for number in context.bank.runs()["id"]]
        return records.bank_record(context.bank, context.cache.path.name, runs)

    return context.handle.compute_once("bank record", make)


def answer(context: RequestContext) -> dict[str, Any]:
    """The rows of an analysis, or why there are none, for the run in the path.

    `any` is for analyses that take no run.
    """
    analysis = find_analysis(context.parts["name"])
    declared = {parameter.name: parameter for parameter in analysis.parameters}
    texts = dict(context.parameters)
    if context.parts["run"] != "any":
        texts["run"] = _run(context, context.parts["run"]).name
    if unknown := [name for name in texts if name not in declared]:
        raise CallError(
            f"{analysis.name} has no parameter {unknown[0][:60]}.",
            f"It takes: {', '.join(declared) or 'none'}.",
        )
    values = {name: parameters.from_text(declared[name], text) for name, text in texts.items()}
    with collecting_warnings() as notes:
        try:
            frame = context.query(analysis.name, **values).frame
        except BankError:
            raise
        except AttnbankError as error:  # as in the files of a publication
            return {"error": {"fact": error.fact, "remedy": error.remedy}}
    return records.frame_record(frame) | {"notes": notes}


def profile(context: RequestContext) -> dict[str, Any]:
    """The relations of each head, or why there are none."""
    run = _run(context, context.parts["run"])
    try:
        return context.handle.compute_once(
            ("profile", run.name), lambda: records.profile_record(context.bank, run)
        )
    except BankError:
        raise
    except AttnbankError as error:
        return {"error": {"fact": error.fact, "remedy": error.remedy}}


def examples(context: RequestContext) -> list[dict[str, Any]]:
    """Dependents of a relation that a head finds, and that it misses."""
    run = _run(context, context.parts["run"])
    head = layer_and_head(context.parts["head"])
    relation = context.text_parameter("relation", "all")
    direction = context.choice_parameter("direction", DIRECTIONS)
    most = context.number("most", 3, 1, 50)
    return context.handle.compute_once(
        ("examples", run.name, head, relation, direction, most),
        lambda: records.examples_record(context.bank, run, head, relation, direction, most),
    )


def sentence(context: RequestContext) -> dict[str, Any]:
    """A sentence, and what some heads attend to in it."""
    number = context.parts["sentence"]
    if not (number.isascii() and number.isdecimal() and len(number) < 19):
        raise CallError(f"{number[:40]} is not the id of a sentence.", "Give a number.")
    names = context.text_parameter("heads").split(",")
    heads = [layer_and_head(name) for name in names if name]
    run = _run(context, context.parts["run"])
    return records.sentence_record(context.bank, run, int(number), heads)


def scores(context: RequestContext) -> dict[str, Any]:
    """Every head on the pairs of words that a request finds, as `attnbank score --every`."""
    request, dependent, head = (
        context.text_parameter(name).strip() for name in ("request", "dependent", "head")
    )
    run = _run(context, context.parts["run"])
    key = ("scores", request, dependent, head, run.name)
    with collecting_warnings() as notes:
        answer = context.handle.cached_rows(
            key,
            lambda: context.bank.score(
                request, dependent=dependent, head=head, every=True, run=run.name,
                timeout=context.cache.seconds, memory=context.cache.memory,
            ),
        )  # fmt: skip
    return records.frame_record(answer.frame) | {"notes": notes}


def _run(context: RequestContext, number: str) -> Run:
    """The run with this id, whatever it keeps. Raises CallError if there is none."""

    def find() -> Run:
        names = dict(context.bank.connection.execute("select id, name from run").fetchall())
        known = {str(id): name for id, name in names.items()}
        if number not in known:
            raise CallError(
                f"The bank has no run of the number {number[:40]}.",
                f"Its runs: {', '.join(known) or 'none'}.",
            )
        return run_choice.chosen_run(context.bank.connection, RunChoice(), known[number])

    return context.handle.compute_once(("run", number), find)
