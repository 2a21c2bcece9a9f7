"""Answers of analyses that `attnbank compute` caches in a bank: their rows, while they hold."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnbank.ingest.derived.computations import STEPS, compute
from attnbank.ingest.progress import OnProgress, Progress
from attnbank.ingest.store.writer import open_for_changes
from attnbank.queries.answers import EVERY_RELATION
from attnbank.queries.bank import Bank, open_bank
from attnbank.queries.results import to_ipc
from attnbank.sql import answer_cache, provenance
from attnbank.sql.answer_cache import CachedAnswer
from attnbank.sql.bank.connections import transaction
from attnbank.sql.errors import FINISH_IT, CallError, QueryError
from attnbank.sql.registry import all_analyses, find_analysis

_SETTINGS = {"memory_limit": "1GB"}

# Seconds between writes of finished rows: opening the bank to write is slow, but an interrupt
# must not lose much.
_WRITES_AFTER = 15.0


@dataclass
class ComputeReport:
    """What `compute_and_cache_all` did."""

    cached: list[str] = field(default_factory=list)  # the analyses that it cached
    already: int = 0  # how many were cached before
    skipped: dict[str, str] = field(default_factory=dict)


def compute_and_cache(
    path: Path, name: str, arguments: Mapping[str, Any], *, replace: bool
) -> CachedAnswer | None:
    """Cache the rows of an analysis; return None if they already are, unless `replace`.

    Raises what `Bank.query` raises; CallError for an unfinished run or too many bytes;
    BankError if the bank cannot be written.
    """
    with open_bank(path) as bank:
        answer = _answer_to_cache(bank, name, arguments, replace=replace)
    if answer is not None:
        cache_answers(path, [answer])
    return answer


def compute_and_cache_all(
    path: Path, run: str | None, on_progress: OnProgress, *, replace: bool
) -> ComputeReport:
    """Run every computation, then cache every analysis with its defaults, for one run or all.

    What the explorer asks first is cached too.

    Skip what the bank has no data for. Raises BankError; CallError if there is no such run.
    """
    with open_bank(path) as bank:
        if run is not None and run not in {*bank.runs()["name"], *map(str, bank.runs()["id"])}:
            bank.run_of("best_head", run=run)  # raises the CallError for an unknown run
    outcome = ComputeReport()
    for step in STEPS:
        try:
            compute(path, step, run, replace=replace)
        except (CallError, QueryError, ImportError) as error:
            outcome.skipped[step] = str(error).split("\n")[0].rstrip(".")
    questions: list[tuple[str, dict[str, Any]]] = [
        *((name, {}) for name in all_analyses() if name not in STEPS),
        ("best_relation", EVERY_RELATION),
    ]
    left = deque(questions)
    while left:
        answers: list[CachedAnswer] = []
        with open_bank(path) as bank:
            opened = time.monotonic()
            while left and time.monotonic() - opened < _WRITES_AFTER:
                on_progress(Progress("keeping", len(questions) - len(left), len(questions)))
                name, values = left.popleft()
                parameters = find_analysis(name).parameters
                takes_run = any(parameter.name == "run" for parameter in parameters)
                arguments = values | ({"run": run} if run is not None and takes_run else {})
                try:
                    answer = _answer_to_cache(bank, name, arguments, replace=replace)
                except (CallError, QueryError) as error:
                    outcome.skipped[name] = str(error).split("\n")[0].rstrip(".")
                    continue
                if answer is None:
                    outcome.already += 1
                else:
                    outcome.cached.append(name)
                    answers.append(answer)
        if answers:
            cache_answers(path, answers)
    on_progress(Progress("keeping", len(questions), len(questions)))
    return outcome


def _answer_to_cache(
    bank: Bank, name: str, arguments: Mapping[str, Any], *, replace: bool
) -> CachedAnswer | None:
    answer = bank.answer(name, arguments, fresh=replace)
    if answer.cached is not None:
        return None
    run = answer.run
    if run is not None and not run.is_finished:
        raise CallError(
            f"The run {run.name} is unfinished, so the answer would soon be out of date.",
            FINISH_IT,
        )
    number = None if run is None else run.id
    with bank.backend.answering():
        question = answer_cache.question(bank.connection, answer.analysis, answer.arguments, number)
        state = answer_cache.state(bank.connection)
    start = time.perf_counter()
    rows = answer.rows
    seconds = time.perf_counter() - start
    stream = to_ipc(rows)
    if len(stream) > answer_cache.MOST_BYTES:
        raise CallError(
            f"The answer of {name} has {len(stream):,} bytes;"
            f" the limit is {answer_cache.MOST_BYTES:,}.",
            "Do not cache it: run the query when you need it.",
        )
    return CachedAnswer(
        question, state, name, number, rows.height, stream, seconds,
        code_version=provenance.version(), finished=provenance.now(),
    )  # fmt: skip


def cache_answers(bank: str | Path, answers: Sequence[CachedAnswer]) -> None:
    """Cache answers, in place of earlier ones to the same questions.

    Raises BankError if the bank cannot be written.
    """
    outcome = "answers cached earlier are unchanged"
    with (
        open_for_changes(Path(bank), outcome, _SETTINGS, has_deleted=True) as connection,
        transaction(connection, is_change=False),
    ):
        answer_cache.store(connection, answers)
