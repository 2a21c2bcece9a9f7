"""Computing answers of analyses and keeping them in the bank: one, or all that are possible."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnbank.ingest.derived.kept import Answer, keep
from attnbank.ingest.derived.steps import STEPS, compute
from attnbank.ingest.progress import OnProgress, Progress, unheard
from attnbank.queries import Bank, open_bank
from attnbank.queries.kept import as_bytes
from attnbank.sql.errors import AttnbankError, CallError, QueryError
from attnbank.sql.registry import every, find

MOST_BYTES = 64_000_000
"""The most bytes that a kept answer may have."""
_WRITES_AFTER = 15.0
"""Seconds of computing after which finished answers are written, so that an interrupt loses little.
"""


@dataclass(frozen=True)
class Kept:
    """An answer in the bank: number of rows, seconds it took, whether it was computed just now."""

    rows: int
    seconds: float
    is_new: bool


@dataclass
class Done:
    """What `keep_all` did: the analyses that it kept, that were kept `already`, and the others.

    `left_out` has the reason for each of the others.
    """

    kept: list[str] = field(default_factory=list)
    already: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def keep_one(path: Path, name: str, given: Mapping[str, Any], *, replace: bool) -> Kept:
    """Keep the answer to an analysis with these values.

    An answer that is kept already and still valid is not computed again, unless `replace`. Raises
    as `Bank.query` does, CallError for a run that is not finished and for an answer that is too
    large, BankError if the bank cannot be written.
    """
    with open_bank(path) as bank:
        before = None if replace else bank.kept(name, **given)
        if before is not None:
            return Kept(before.rows.height, before.seconds, is_new=False)
        answer = _answer(bank, name, given)
    keep(path, [answer])
    return Kept(answer.row_count, answer.seconds, is_new=True)


def keep_all(
    path: Path, run: str | None, on_progress: OnProgress = unheard, *, replace: bool
) -> Done:
    """Run every step, then keep the answer of every analysis with its defaults.

    With `run` only that run is read. What cannot be answered is left out, with the reason. Raises
    BankError if the bank cannot be read or written, CallError if there is no such run.
    """
    with open_bank(path) as bank:
        if run is not None and run not in _runs(bank):
            bank.query("best_head", run=run)  # raises the CallError for an unknown run
    done = Done()
    for step in STEPS:
        try:
            compute(path, step, run, replace=replace)
        except (CallError, QueryError, ImportError) as error:
            done.left_out[step] = _reason(error)
    waiting: list[Answer] = []
    names = [name for name in every() if name not in STEPS]
    begun = time.monotonic()
    for at, name in enumerate(names):
        on_progress(Progress("keeping", at, len(names)))
        with open_bank(path) as bank:
            try:
                found = _answer_of(bank, name, run, replace=replace)
            except (CallError, QueryError) as error:
                done.left_out[name] = _reason(error)
                continue
        if found is None:
            done.already.append(name)
            continue
        done.kept.append(name)
        waiting.append(found)
        if time.monotonic() - begun > _WRITES_AFTER:
            keep(path, waiting)
            waiting, begun = [], time.monotonic()
    if waiting:
        keep(path, waiting)
    on_progress(Progress("keeping", len(names), len(names)))
    return done


def _runs(bank: Bank) -> set[str]:
    frame = bank.runs()
    return {*frame["name"], *map(str, frame["id"])}


def _answer_of(bank: Bank, name: str, run: str | None, *, replace: bool) -> Answer | None:
    """The answer to an analysis with its defaults; None if it is kept already."""
    takes_run = any(each.name == "run" for each in find(name).parameters)
    given = {"run": run} if run is not None and takes_run else {}
    if not replace and bank.kept(name, **given) is not None:
        return None
    return _answer(bank, name, given)


def _answer(bank: Bank, name: str, given: Mapping[str, Any]) -> Answer:
    """Compute the answer of an analysis. Raises as `keep_one` does, except for writing."""
    run = bank.run_of(name, **given)
    if run is not None and not run.is_finished:
        raise CallError(
            f"The run {run.name} is unfinished: what is computed now would not hold later.",
            "Finish it first: type the same ingest command again.",
        )
    bank.reads_kept = False
    start = time.perf_counter()
    rows = bank.query(name, **given)
    seconds = time.perf_counter() - start
    answer = as_bytes(rows)
    if len(answer) > MOST_BYTES:
        raise CallError(
            f"The answer of {name} has {len(answer):,} bytes; at most {MOST_BYTES:,} are kept.",
            "Ask for it where it is needed: it is not slow, but long.",
        )
    number = None if run is None else run.id
    return Answer(name, number, rows.height, answer, seconds, dict(given))


def _reason(error: Exception) -> str:
    if isinstance(error, AttnbankError):
        return str(error).split("\n")[0].rstrip(".")
    return str(error)
