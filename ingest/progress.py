"""The progress of a long step, as reported while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock


@dataclass(frozen=True)
class Progress:
    """The progress of a stage: `done` of `total` units (None: total not known).

    The units are sentences for the stages checking, reading, running, masking, counting, averaging,
    scoring, drawing and writing (of a publication); inputs for planning (of a sample) and
    computing; pairs for judging; epochs for training; analyses for keeping (`compute --all`) and
    publishing; heads for examples (of a publication); sections for answering (a report); tables
    for copying.

    Within a stage `done` never falls and `total` does not change. `done` ends at `total`, except
    in a training that stops early. `share`, in [0, 1], is the elapsed share of the time, where that
    is known better than from `done`: long sentences come last, and take longer.
    """

    stage: str
    done: int
    total: int | None
    share: float | None = field(default=None, kw_only=True)


OnProgress = Callable[[Progress], None]  # called often: it must be quick


def ignore_progress(progress: Progress) -> None:
    """Do nothing: the default OnProgress."""


class ProgressCounter:
    """Counts the finished sentences of a run and reports them; thread-safe."""

    def __init__(self, on_progress: OnProgress, stage: str = "running") -> None:
        self.stage = stage
        self.done = 0
        self.total = 0
        self.effort = 0.0
        self._on_progress = on_progress
        self._lock = Lock()  # the reading and the writing thread both report

    def report_planning(self, inputs: int) -> None:
        """Report how many inputs have been read so far to draw a sample from."""
        self._on_progress(Progress("planning", inputs, None))

    def start(self, before: int, effort: float, total: int) -> None:
        """Set the total, and add the sentences that an interrupted ingest has done already."""
        self.total = total
        self.add(before, effort)

    def add(self, sentences: int, effort: float) -> None:
        """Add finished sentences, which took as long as `effort` average ones."""
        with self._lock:
            self.done += sentences
            self.effort += effort
            share = 1.0 if self.done == self.total else min(1.0, self.effort / self.total)
            self._on_progress(Progress(self.stage, self.done, self.total, share=share))
