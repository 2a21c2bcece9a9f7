"""Show the progress of a long step: a bar on a terminal, else one line per tenth of the work."""

from __future__ import annotations

import sys
import time
from typing import Any

from attnbank.cli.output import count_noun, duration
from attnbank.cli.safe_echo import is_quiet, safe_echo
from attnbank.ingest.derived.probes.probe_options import Epoch
from attnbank.ingest.progress import Progress

_STAGES = {
    "reading": ("Reading", "sentences"),
    "planning": ("Planning", "inputs"),
    "counting": ("Counting", "sentences"),
    "running": ("Running", "sentences"),
    "masking": ("Masking", "sentences"),
    "averaging": ("Averaging", "sentences"),
    "scoring": ("Scoring", "sentences"),
    "judging": ("Judging", "pairs"),
    "computing": ("Computing", "inputs"),
    "keeping": ("Caching results", "analyses"),
    "answering": ("Answering", "sections"),
    "drawing": ("Drawing", "sentences"),
    "fetching": ("Fetching", "MB"),
    "copying": ("Copying the bank", "tables"),
    "publishing": ("Writing results and pictures", "analyses"),
    "scores": ("Writing scores", "requests"),
    "examples": ("Writing examples", "heads"),
    "writing": ("Writing sentences", "sentences"),
}
_BAR_OF_SHARE = "{desc}: {percentage:3.0f}%|{bar}|{postfix} [{elapsed}<{remaining}]"
_EPOCHS_IN_A_LINE = 10
# Stages with a line of their own at the start, where there is no bar.
_ANNOUNCED = (
    "running", "masking", "scoring", "copying", "keeping", "publishing", "scores", "examples",
    "writing",
)  # fmt: skip


class ProgressDisplay:
    """Shows the progress of a long step on standard error; use it in a `with` statement."""

    def __init__(self) -> None:
        self._quiet = is_quiet()
        self._is_terminal = sys.stderr.isatty()
        self._stage = ""
        self._bar: Any = None
        self._has_open_line = False
        self._started, self._first, self._tenth = time.monotonic(), 0.0, 0

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def __call__(self, progress: Progress) -> None:
        """Show progress; while a probe is trained, its last epoch."""
        if self._quiet:
            return
        if isinstance(progress, Epoch):
            self._epoch(progress)
            return
        if progress.stage != self._stage:
            self._begin(progress)
        if self._bar is None:
            self._print_line(progress)
            return
        if progress.share is not None:
            self._bar.set_postfix_str(_count_done(progress), refresh=False)
        self._bar.update(_share_done(progress) - self._bar.n)

    def _begin(self, progress: Progress) -> None:
        self._close()
        self._stage = progress.stage
        self._started, self._first, self._tenth = time.monotonic(), _done(progress), 0
        name, unit = _STAGES[progress.stage]
        if self._is_terminal:
            self._bar = _bar(name, unit, progress)
        elif progress.stage in _ANNOUNCED:
            begun = f", {progress.done} already done" if progress.done else ""
            total = count_noun(progress.total or 0, unit.removesuffix("s"))
            safe_echo(f"{name}: {total}{begun}", err=True)

    def _print_line(self, progress: Progress) -> None:
        """Print a line for every tenth of the work, with the time that is left."""
        share = _done(progress)
        tenth = int(10 * share + 1e-9)
        if not progress.total or tenth <= self._tenth or share == self._first:
            return
        self._tenth = tenth
        left = (1 - share) * (time.monotonic() - self._started) / (share - self._first)
        name = _STAGES[progress.stage][0]
        safe_echo(f"{name}: {_count_done(progress)}, {duration(left)} left", err=True)

    def _epoch(self, epoch: Epoch) -> None:
        """Show the losses of an epoch: in place on a terminal, else every tenth epoch on a line."""
        if not (self._is_terminal or epoch.done % _EPOCHS_IN_A_LINE == 1):
            return
        held_out = "" if epoch.held_out_loss is None else f", held out {epoch.held_out_loss:.3f}"
        text = f"Epoch {epoch.done} of at most {epoch.total}: loss {epoch.loss:.3f}{held_out}"
        safe_echo(f"\r{text}" if self._is_terminal else text, nl=not self._is_terminal, err=True)
        self._has_open_line = self._is_terminal

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._has_open_line:
            safe_echo(err=True)
            self._has_open_line = False


def _done(progress: Progress) -> float:
    """The share of a step that is done, in [0, 1]; of its time if that is known."""
    if progress.share is not None:
        return progress.share
    return progress.done / progress.total if progress.total else 0.0


def _share_done(progress: Progress) -> float:
    return progress.done if progress.share is None else progress.share


def _count_done(progress: Progress) -> str:
    return f"{progress.done} of {progress.total} {_STAGES[progress.stage][1]}"


def _bar(name: str, unit: str, progress: Progress) -> Any:
    """Make a progress bar; None if tqdm, which only ingests need, is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(
        desc=name,
        total=progress.total if progress.share is None else 1,
        initial=_share_done(progress),
        unit=f" {unit}",
        bar_format=None if progress.share is None else _BAR_OF_SHARE,
        dynamic_ncols=True,
        leave=progress.stage in ("running", "computing"),
        file=sys.stderr,
    )
