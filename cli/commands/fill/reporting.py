"""What an ingest says of what it did or would do: counts, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.cli.humanize import number, size, unknown_lines
from attnbank.cli.printing import say

if TYPE_CHECKING:
    from attnbank.ingest.corpora.document import Problem
    from attnbank.ingest.options import Departures, Estimate, Report

MOST_PROBLEMS = 20
"""The most problems of a corpus that are listed."""


def print_report(report: Report, place: Path) -> None:
    """Say what an ingest did, on standard error."""
    state = {
        "unchanged": "was in the bank already; nothing was added",
        "resumed": "is finished; it went on where it had stopped",
        "new": "is finished",
    }
    lines = [
        f"Run {report.run} {state.get(report.state, report.state)}:",
        f"  {number(report.sentences)} sentences, {number(report.words)} words,"
        f" {number(report.weights)} weights{_kept(report)}; {place} has {size(_bytes(place))}",
        *_skipped_lines(report.skipped),
        *(f"  {line}" for line in _unknown_lines(report)),
        *_words_lines(report.inner_dependencies, report.empty_nodes),
        *_departure_lines(report.departures),
        *_replaced_lines(report),
    ]
    say(*lines, err=True)


def _bytes(place: Path) -> int:
    """The bytes of a bank, or of the files of an export."""
    files = place.rglob("*") if place.is_dir() else [place]
    return sum(each.stat().st_size for each in files if each.is_file())


def _kept(report: Report) -> str:
    return "" if report.keep == "weights" else ", of which the peaks and sums are kept"


def _replaced_lines(report: Report) -> list[str]:
    """What was deleted with the replaced run and is not made again by the new one."""
    if report.replaced is None:
        return []
    own = {
        "run",
        "sequence",
        "position",
        "attention",
        "attention_map",
        "peak",
        "gradient",
        "skipped",
        "ablation",
    }
    gone = [f"the probe {each}" for each in report.replaced.probes] + [
        f"{number(rows)} rows of {table}"
        for table, rows in report.replaced.rows.items()
        if table not in own and not table.startswith("probe")
    ]
    return [f"  deleted with the run that it replaces: {', '.join(gone)}"] if gone else []


def print_problems(problems: Sequence[Problem], what: str) -> None:
    """List problems of a corpus on standard error, at most MOST_PROBLEMS of them."""
    if not problems:
        return
    say(f"{number(len(problems))} {what}:", err=True)
    for problem in problems[:MOST_PROBLEMS]:
        say(f"  {problem}", err=True)
    if len(problems) > MOST_PROBLEMS:
        say(f"  and {number(len(problems) - MOST_PROBLEMS)} more", err=True)


def print_estimate(found: Estimate) -> None:
    """Say what an ingest would write, on standard output."""
    say(f"documents  {number(found.documents)}")
    say(f"sentences  {number(found.sentences)}")
    say(f"words      {number(found.words)}")
    say(f"pieces     {number(found.pieces)}  (special tokens counted)")
    say(f"weights    {number(found.weights)}")
    say(f"bytes      {number(found.bytes)}  (about {size(found.bytes)})")
    for line in (
        *_skipped_lines(found.skipped),
        *_unknown_lines(found),
        *_words_lines(0, found.empty_nodes),
        *_departure_lines(found.departures),
    ):
        say(line.strip())


def _unknown_lines(found: Report | Estimate) -> list[str]:
    return unknown_lines(found.words, found.unknown_words) if found.unknown_words else []


def _words_lines(inner: int, empty_nodes: int) -> list[str]:
    """What no head can find: dependencies within a token, and nodes that are no words."""
    lines = []
    if inner:
        lines.append(
            f"  {number(inner)} dependencies are between words of one token, which share a"
            " position; analyses of heads leave them out (inside-token)"
        )
    if empty_nodes:
        nodes = "empty node of the enhanced graph is no word"
        if empty_nodes > 1:
            nodes = "empty nodes of the enhanced graph are no words"
        lines.append(f"  {number(empty_nodes)} {nodes}")
    return lines


def _skipped_lines(skipped: dict[str, int]) -> list[str]:
    if not skipped:
        return ["  nothing was left out"]
    reasons = ", ".join(f"{number(count)} {reason}" for reason, count in skipped.items())
    return [f"  left out: {reasons}"]


def _departure_lines(departures: Sequence[Departures]) -> list[str]:
    return [
        f"  read all the same: {number(each.count)} {each.id}, the first at {each.place}"
        f" ({each.fact}); --strict refuses"
        for each in departures
    ]
