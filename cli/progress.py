"""How far an ingest is: a bar on a terminal, otherwise a line at every tenth."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from attnbank.cli.printing import say

if TYPE_CHECKING:
    from attnbank.ingest.options import Progress

_STAGES = {
    "checking": "Checking",
    "reading": "Reading",
    "planning": "Planning",
    "counting": "Counting",
    "running": "Running",
}


class ProgressDisplay:
    """Shows the progress that an ingest tells, on standard error. Use it in a `with` statement."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._is_terminal = sys.stderr.isatty()
        self._stage = ""
        self._bar: Any = None
        self._started = time.monotonic()
        self._first = 0
        self._tenth = 0

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def __call__(self, progress: Progress) -> None:
        """Show how far it is."""
        if self._quiet:
            return
        if progress.stage != self._stage:
            self._begin(progress)
        if self._is_terminal:
            self._bar.update(progress.done - self._bar.n)
        else:
            self._line(progress)

    def _begin(self, progress: Progress) -> None:
        self._close()
        self._stage = progress.stage
        self._started, self._first, self._tenth = time.monotonic(), progress.done, 0
        name = _STAGES.get(progress.stage, progress.stage.capitalize())
        if self._is_terminal:
            from tqdm import tqdm

            self._bar = tqdm(
                desc=name,
                total=progress.total,
                initial=progress.done,
                unit=" inputs" if progress.stage == "planning" else " sentences",
                dynamic_ncols=True,
                leave=progress.stage == "running",
                file=sys.stderr,
            )
        elif progress.stage == "running":
            begun = f", {progress.done} of them done before" if progress.done else ""
            say(f"{name}: {progress.total} sentences{begun}", err=True)

    def _line(self, progress: Progress) -> None:
        if not progress.total:
            return
        tenth = 10 * progress.done // progress.total
        if tenth <= self._tenth or progress.done == self._first:
            return
        self._tenth = tenth
        seconds = max(time.monotonic() - self._started, 1e-9)
        rate = (progress.done - self._first) / seconds
        left = (progress.total - progress.done) / rate if rate else 0
        say(
            f"{_STAGES.get(progress.stage, progress.stage)}: {progress.done} of {progress.total}"
            f" sentences, {rate:.0f} a second, {duration(left)} left",
            err=True,
        )

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def duration(seconds: float) -> str:
    """A duration for people: 42 s, 3 min 5 s, 2 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(count: float) -> str:
    """A number of bytes for people: 512 bytes, 9.6 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def number(count: int) -> str:
    """A count for people: 2,124,864."""
    return f"{count:,}"
