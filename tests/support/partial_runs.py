"""Ingests that stop where some of their batches are committed."""

from __future__ import annotations

import pytest

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.progress import Progress
from attnbank.ingest.store import pipeline


def ingest_part(options: IngestOptions, sentences: int = 0, weights: int = 1) -> None:
    """Ingest until more than so many sentences are done, and fail there.

    A transaction has the batches of at least so many weights: by default one batch.
    """

    class Stopped(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.stage == "running" and progress.done > sentences:
            raise Stopped

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(pipeline, "WEIGHTS_AT_ONCE", weights)
        ingest(options, stop)
