"""The progress of a long step: a bar on a terminal, otherwise one line per tenth of the work."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, cast

from attnbank.cli.humanize import duration
from attnbank.cli.printing import say

if TYPE_CHECKING:
    from attnbank.ingest.derived.probes.options import Epoch
    from attnbank.ingest.progress import Progress

_STAGES = {
    "checking": ("Checking", "sentences"),
    "reading": ("Reading", "sentences"),
    "planning": ("Planning", "inputs"),
    "counting": ("Counting", "sentences"),
    "running": ("Running", "sentences"),
    "computing": ("Computing", "inputs"),
    "keeping": ("Keeping", "analyses"),
    "answering": ("Answering", "sections"),
}
_EPOCHS_IN_A_LINE = 10


class ProgressDisplay:
    """Shows the progress of a long step on standard error. Use it in a `with` statement."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._is_terminal = sys.stderr.isatty()
        self._stage = ""
        self._bar: Any = None
        self._has_open_line = False
        self._started = time.monotonic()
        self._first = 0
        self._tenth = 0

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def __call__(self, progress: Progress) -> None:
        """Show the progress that a step reports; on the training of a probe, its last epoch."""
        if self._quiet:
            return
        if progress.stage == "training":
            self._epoch(cast("Epoch", progress))
            return
        if progress.stage != self._stage:
            self._begin(progress)
        if self._bar is not None:
            self._bar.update(progress.done - self._bar.n)
        else:
            self._line(progress)

    def _begin(self, progress: Progress) -> None:
        self._close()
        self._stage = progress.stage
        self._started, self._first, self._tenth = time.monotonic(), progress.done, 0
        name, unit = _STAGES[progress.stage]
        if self._is_terminal:
            self._bar = _bar(name, unit, progress)
        elif progress.stage == "running":
            begun = f", {progress.done} of them done before" if progress.done else ""
            say(f"{name}: {progress.total} {unit}{begun}", err=True)

    def _line(self, progress: Progress) -> None:
        """Print a line when a further tenth is done, with the rate and the time that is left."""
        if not progress.total:
            return
        tenth = 10 * progress.done // progress.total
        if tenth <= self._tenth or progress.done == self._first:
            return
        self._tenth = tenth
        seconds = max(time.monotonic() - self._started, 1e-9)
        rate = (progress.done - self._first) / seconds
        left = (progress.total - progress.done) / rate if rate else 0
        name, unit = _STAGES[progress.stage]
        say(
            f"{name}: {progress.done} of {progress.total} {unit}, {rate:.0f} a second,"
            f" {duration(left)} left",
            err=True,
        )

    def _epoch(self, epoch: Epoch) -> None:
        """Show the losses of an epoch: in place on a terminal, else one line per ten epochs."""
        if not (self._is_terminal or epoch.done % _EPOCHS_IN_A_LINE == 1):
            return
        held_out = "" if epoch.held_out_loss is None else f", held out {epoch.held_out_loss:.3f}"
        text = f"Epoch {epoch.done} of at most {epoch.total}: loss {epoch.loss:.3f}{held_out}"
        say(f"\r{text}" if self._is_terminal else text, nl=not self._is_terminal, err=True)
        self._has_open_line = self._is_terminal

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._has_open_line:
            say(err=True)
            self._has_open_line = False


def _bar(name: str, unit: str, progress: Progress) -> Any:
    """A progress bar; None if tqdm, which only an ingest needs, is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(
        desc=name,
        total=progress.total,
        initial=progress.done,
        unit=f" {unit}",
        dynamic_ncols=True,
        leave=progress.stage in ("running", "computing"),
        file=sys.stderr,
    )
