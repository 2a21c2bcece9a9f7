"""How the threads of the libraries wait for one another."""

from __future__ import annotations

import os
import sys


def wait_passively() -> None:
    """Have OpenMP's threads sleep while they wait; to be called before torch is imported.

    Left alone they spin, and take the processor from the thread that reads and from the one that
    writes. What the user has set in the environment stays.
    """
    if "torch" not in sys.modules and "GOMP_SPINCOUNT" not in os.environ:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
