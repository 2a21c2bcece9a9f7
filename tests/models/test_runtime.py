"""Threads that wait without spinning, and memory that stays while batches come and go."""

from __future__ import annotations

import resource
import sys

import numpy as np
import pytest
from command_line import run_python

from attnbank.ingest.models.runtime import malloc_tuned

PROGRAM = "import os; from attnbank.ingest import ingest; print(os.environ.get('OMP_WAIT_POLICY'))"


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "passive"),
        ({"OMP_WAIT_POLICY": "active"}, "active"),
        ({"GOMP_SPINCOUNT": "100"}, "None"),
    ],
)
def test_threads_wait_passively_unless_the_user_says_otherwise(
    given: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    done = run_python("-c", PROGRAM, env=given, check=True)
    assert done.stdout.strip() == expected


def _faults() -> int:
    """Pages that the system has to provide while arrays of 2 MB come and go."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(80):
        np.ones(500_000, dtype=np.float32)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


KEPT = """
import numpy, psutil
from attnbank.ingest.models.runtime import malloc_tuned

def resident():
    return psutil.Process().memory_info().rss

with malloc_tuned():
    arrays = [numpy.ones(500_000, dtype=numpy.float32) for _ in range(40)]
    full = resident()
    del arrays  # 80 MB
    kept = resident()
print(full, kept, resident())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C library is not glibc")
def test_memory_that_is_freed_is_used_again() -> None:
    with malloc_tuned():
        _faults()
        assert _faults() < 500  # 39,000 in all, were they fresh
    with malloc_tuned():  # and once more
        _faults()
        assert _faults() < 500


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C library is not glibc")
def test_memory_is_kept_within_and_goes_back_at_the_end() -> None:
    """In a process of its own: from one that has been idle for long the system may take memory."""
    done = run_python("-c", KEPT, check=True)
    full, kept, freed = map(int, done.stdout.split())
    assert full - kept < 10_000_000
    assert kept - freed > 60_000_000
