"""The progress of a long step, as reported while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Progress:
    """How far a step is: `done` of `total`, which is None if it is not known.

    The stages, and what they count:

    checking, reading, running   of an ingest: sentences
    planning                     of an ingest of a sample: inputs
    counting                     of an estimate: sentences
    computing                    of a step of `compute`: inputs
    training                     of a probe: epochs
    keeping                      of `compute --all`: answers
    answering                    of a report: sections

    Within one stage `done` never falls and `total` stays the same. `done` ends at `total`, except
    in a training that stops early.
    """

    stage: str
    done: int
    total: int | None


OnProgress = Callable[[Progress], None]
"""A function that is called with the progress. It is called often, so it must be quick."""


def unheard(progress: Progress) -> None:
    """Ignore the progress; the default where a function takes an OnProgress."""


class Counter:
    """Reports how many sentences of a run are done; any thread may use it."""

    def __init__(self, on_progress: OnProgress) -> None:
        self.done = 0
        self.total = 0
        self._on_progress = on_progress
        self._lock = Lock()  # the reading and the writing thread both report

    def looked(self, inputs: int) -> None:
        """Report from how many inputs a sample was drawn so far."""
        self._on_progress(Progress("planning", inputs, None))

    def begun(self, before: int, total: int) -> None:
        """Report how many sentences an earlier ingest has done, and how many there are in all."""
        self.total = total
        self.written(before)

    def written(self, sentences: int) -> None:
        """Report that this many more sentences are done."""
        with self._lock:
            self.done += sentences
            self._on_progress(Progress("running", self.done, self.total))
