"""How far a long step is: what is told while corpora are read, heads compared, probes trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far it is.

    `stage` is, of an ingest, checking, reading, planning (of a sample: counts are of inputs),
    running, or, in an estimate, counting; counts are of sentences. A step is computing, and counts
    inputs; a probe is training, and counts epochs. In one stage `done` never falls and `total`
    stays; where there is a `total`, `done` ends there, but for a training that stops before.
    """

    stage: str
    done: int
    total: int | None


OnProgress = Callable[[Progress], None]
"""Is called with the progress, often: it must be quick."""


def unheard(progress: Progress) -> None:
    """Tell nobody."""
