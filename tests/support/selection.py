"""Which tests are run without --slow and --soak, and what the end of a run says of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

_LEFT = pytest.StashKey[Counter[str]]()
"""How many tests were left out, by why."""
FIRST = ("tests/analyses/test_cases.py", "tests/explorer/", "tests/spark/")
"""The files that take longest are begun first, or one process would end with them alone."""
MOST_REASONS = 3
"""As many lines say why tests were skipped; -rs lists all."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")
    parser.addoption(
        "--soak", type=int, metavar="SEED", help="also run those that take hours, from this seed"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LEFT] = Counter()


def pytest_report_header(config: pytest.Config) -> str:
    seed = config.getoption("--soak")
    return "" if seed is None else f"seed of the soak: {seed} (make soak SEED={seed} repeats it)"


def _is_left_to(item: pytest.Item, marker: str, case: str, place: int) -> bool:
    """Whether an item has the marker, and its case fits none of the patterns, or not the number.

    `place` counts the cases of a test from 0. Of every n cases it is another one, or a grid would
    be left with one value of its last parameter.
    """
    found = item.get_closest_marker(marker)
    return found is not None and not any(
        place % each == place // each % each if isinstance(each, int) else fnmatchcase(case, each)
        for each in found.args
    )


def _mark(items: list[pytest.Item]) -> None:
    """Mark the cases that `usual` leaves to --slow, and those that `few` leaves to the soak."""
    places: Counter[str] = Counter()
    for item in items:
        test, _, case = item.nodeid.partition("[")
        case, place = case.removesuffix("]"), places[test]
        places[test] += 1
        is_unusual = _is_left_to(item, "usual", case, place)
        if is_unusual:
            item.add_marker(pytest.mark.slow)
        is_usual = item.get_closest_marker("usual") is not None and not is_unusual
        if _is_left_to(item, "few", case, place) and not is_usual:
            item.add_marker(pytest.mark.soak)


def _lacks(item: pytest.Item) -> str:
    """The option without which a test is not run; empty if nothing is missing."""
    if item.get_closest_marker("soak"):  # not a folder of that name
        return "soak (--soak=SEED)" if item.config.getoption("--soak") is None else ""
    is_left = bool(item.get_closest_marker("slow")) and not item.config.getoption("--slow")
    return "slow (--slow)" if is_left else ""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    _mark(items)
    before, counts = len(items), config.stash[_LEFT]
    yield  # -m and -k choose, by these marks too
    if others := before - len(items):
        counts["not chosen (-m, -k)"] = others
    if left := [item for item in items if _lacks(item)]:
        counts.update(map(_lacks, left))
        items[:] = [item for item in items if not _lacks(item)]
        config.hook.pytest_deselected(items=left)
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # a process of -n, which prints nothing itself
        left = session.config.stash[_LEFT]
        session.config.workeroutput["left"] = dict(left)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    left = getattr(node, "workeroutput", {}).get("left", {})  # none of a process that crashed
    node.config.stash[_LEFT] |= Counter(left)  # which each process left out alike


def _reason(report: Any) -> str:
    """Why a test was skipped, without its place."""
    is_placed = isinstance(report.longrepr, (tuple, list))
    return str(report.longrepr[2] if is_placed else report.longrepr).removeprefix("Skipped: ")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Iterator[None]:
    yield
    left = config.stash[_LEFT]
    # Of what processes of -n left out, pytest's own last line would say nothing.
    terminalreporter.stats["deselected"] = [*left.elements()]
    if left:
        parts = [f"{count:,} {why}" for why, count in left.most_common()]
        terminalreporter.write_line(f"not run: {', '.join(parts)}")
    skipped = Counter(map(_reason, terminalreporter.stats.get("skipped", ())))
    by_count = sorted(skipped.items(), key=lambda of_reason: (-of_reason[1], of_reason[0]))
    told = by_count[: MOST_REASONS if len(skipped) <= MOST_REASONS else MOST_REASONS - 1]
    for reason, count in told:
        terminalreporter.write_line(f"skipped: {count:,}, {reason.splitlines()[0]}")
    if rest := skipped - Counter(dict(told)):
        terminalreporter.write_line(
            f"skipped: {rest.total():,} for {len(rest)} more reasons (-rs lists them)"
        )
