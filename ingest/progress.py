"""The progress of a long step, as reported while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock


@dataclass(frozen=True)
class Progress:
    """How far a step is: `done` of `total`, which is None if it is not known.

    The stages checking, reading, running, counting, averaging and scoring count sentences; planning
    (of a sample) and computing count inputs; judging counts pairs; training counts epochs, keeping
    (of `compute --all`) answers, answering (of a report, or of what is published) sections, and
    drawing sentences.

    Within one stage `done` never falls and `total` stays the same. `done` ends at `total`, except
    in a training that stops early. `share`, in [0, 1], is how much of the time is over, where that
    is known better than by `done`: long sentences come last, and take longer.
    """

    stage: str
    done: int
    total: int | None
    share: float | None = field(default=None, kw_only=True)


OnProgress = Callable[[Progress], None]
"""It is called often, so it must be quick."""


def ignore_progress(progress: Progress) -> None:
    """Ignore the progress; the default where a function takes an OnProgress."""


class Counter:
    """Reports how many sentences of a run are done; any thread may use it."""

    def __init__(self, on_progress: OnProgress, stage: str = "running") -> None:
        self.stage = stage
        self.done = 0
        self.total = 0
        self.effort = 0.0
        self._on_progress = on_progress
        self._lock = Lock()  # the reading and the writing thread both report

    def looked(self, inputs: int) -> None:
        """Report from how many inputs a sample was drawn so far."""
        self._on_progress(Progress("planning", inputs, None))

    def begun(self, before: int, effort: float, total: int) -> None:
        """Report how many sentences an earlier ingest has done, and how many there are in all."""
        self.total = total
        self.add(before, effort)

    def add(self, sentences: int, effort: float) -> None:
        """Report that more sentences are done, which took as long as `effort` usual ones."""
        with self._lock:
            self.done += sentences
            self.effort += effort
            share = 1.0 if self.done == self.total else min(1.0, self.effort / self.total)
            self._on_progress(Progress(self.stage, self.done, self.total, share=share))
