"""Progress of a long step: what is told while corpora are read, heads compared, probes trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Progress:
    """How far it is.

    `stage` is, of an ingest, checking, reading, planning (of a sample: counts are of inputs),
    running, or, in an estimate, counting; counts are of sentences. A step is computing, and counts
    inputs; a probe is training, and counts epochs; answers that are kept are keeping, and counted.
    In one stage `done` never falls and `total` stays; where there is a `total`, `done` ends there,
    but for a training that stops before.
    """

    stage: str
    done: int
    total: int | None


OnProgress = Callable[[Progress], None]
"""Is called with the progress, often: it must be quick."""


def unheard(progress: Progress) -> None:
    """Ignore the progress: the default listener."""


class Counter:
    """Tells how many sentences of a run are done, from any thread."""

    def __init__(self, on_progress: OnProgress) -> None:
        self.done = 0
        self.total = 0
        self._on_progress = on_progress
        self._lock = Lock()  # the reading and the writing thread both tell

    def looked(self, inputs: int) -> None:
        """Tell how many inputs a sample was drawn from so far."""
        self._on_progress(Progress("planning", inputs, None))

    def begun(self, before: int, total: int) -> None:
        """Tell how many sentences were done before, and how many there are in all."""
        self.total = total
        self.written(before)

    def written(self, sentences: int) -> None:
        """Tell that this many more sentences are done."""
        with self._lock:
            self.done += sentences
            self._on_progress(Progress("running", self.done, self.total))
