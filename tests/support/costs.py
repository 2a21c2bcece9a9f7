"""What a run of the tests costs: the processor seconds of all its processes (`pytest --costs`).

User and system time are counted, of the tests and of all that they start. A busy machine changes
these much less than it changes the time that passes.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

MOST = {"folder": 40, "file": 20, "fixture": 20, "test": 30}
"""The rows that --costs prints of each kind."""
_BEGAN = time.monotonic()
_TICK = os.sysconf("SC_CLK_TCK") if Path("/proc/self/stat").exists() else 0


class Meter:
    """Charges processor seconds to the innermost of the accounts that are open.

    An account is a pair: its kind (test, fixture or process), and a name that begins with the path
    of a file or folder.
    """

    def __init__(self) -> None:
        self.accounts: defaultdict[tuple[str, str], float] = defaultdict(float)
        self.counts_children = True
        self._open = [("process", "collecting, starting and ending")]
        self._charged = 0.0
        self._of_living, self._looked = 0.0, 0.0

    @contextmanager
    def account(self, kind: str, name: str) -> Iterator[None]:
        """Charge what is used within to an account, but for what inner ones are charged."""
        self.charge()
        self._open.append((kind, name))
        try:
            yield
        finally:
            self.charge()
            self._open.pop()

    def charge(self) -> None:
        """Charge what was used since the last call to the innermost open account."""
        used = self._used() if self.counts_children else time.process_time()
        # Less than before: a process whose parent did not wait for it has ended.
        self.accounts[self._open[-1]] += max(0.0, used - self._charged)
        self._charged = used

    def _used(self) -> float:
        """The processor seconds of this process, and of all that it started, also if still alive.

        Where there is no /proc, children count when they have ended.
        """
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except (ChildProcessError, AttributeError):
            self._of_living = 0.0  # there is no child, as after most tests
        else:
            # To look at all processes takes milliseconds, as long as a small test.
            if _TICK and time.monotonic() - self._looked > 0.1:
                self._of_living, self._looked = _seconds_of_children(), time.monotonic()
        return sum(os.times()[:4]) + self._of_living


def _seconds_of_children() -> float:
    """The processor seconds of the living children of this process, and of theirs."""
    processes: dict[int, list[tuple[int, int]]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # Behind the name of the program, which may contain anything: its state, its parent; and
            # the user and system time of itself and of the children that it has waited for.
            fields = path.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        used = sum(map(int, fields[11:15]))
        processes.setdefault(int(fields[1]), []).append((int(path.parent.name), used))
    living, ticks = processes.pop(os.getpid(), []), 0
    for process, used in living:
        ticks += used
        living += processes.pop(process, [])
    return ticks / _TICK


METER = Meter()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="print the processor seconds of tests")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):  # the processes that it starts tell their own
        METER.counts_children = False


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with METER.account("test", item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    if fixturedef.scope == "function":  # part of its test
        return (yield)
    with METER.account("fixture", f"{fixturedef.baseid or 'tests'}::{fixturedef.argname}"):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    METER.charge()
    config = session.config
    if hasattr(config, "workeroutput"):  # a process of -n, which prints nothing itself
        accounts = [[*account, seconds] for account, seconds in METER.accounts.items()]
        config.workeroutput["costs"] = accounts
        return (yield)
    result = yield  # pytest prints all that it has to say
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):
        _write(reporter, is_whole=config.getoption("costs"))
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for kind, name, seconds in getattr(node, "workeroutput", {}).get("costs", ()):
        METER.accounts[kind, name] += seconds


def _write(reporter: pytest.TerminalReporter, *, is_whole: bool) -> None:
    """Print a line of what the run cost, and before it tables of what did, if it is to be whole."""
    kinds: dict[str, defaultdict[str, float]] = {kind: defaultdict(float) for kind in MOST}
    for (kind, name), seconds in METER.accounts.items():
        path = name.partition("::")[0]
        kinds["folder"]["/".join(path.split("/")[:2])] += seconds
        if kind != "process":
            kinds["file"][path] += seconds
            kinds[kind][name] += seconds
    dearest = {
        kind: sorted(costs.items(), key=lambda cost: -cost[1])[: MOST[kind]]
        for kind, costs in kinds.items()
    }
    for kind, costs in dearest.items() if is_whole else ():
        reporter.section(f"processor seconds by {kind}", sep="-")
        for name, seconds in costs:
            reporter.write_line(f"{seconds:8.2f}  {name}")
    files = ", ".join(f"{name} ({seconds:.0f})" for name, seconds in dearest["file"][:3])
    reporter.write_line(
        f"cost: {time.monotonic() - _BEGAN:,.0f} s, {sum(METER.accounts.values()):,.0f} processor"
        f" seconds{f', most of them for {files}' if files else ''} (--costs: all)"
    )
