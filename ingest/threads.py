"""How the threads of the numerical libraries wait for each other."""

from __future__ import annotations

import os
import sys


def wait_passively() -> None:
    """Make OpenMP's threads sleep while they wait; call it before torch is imported.

    By default they spin, which takes the processor away from the threads that read and write.
    Settings that the user made in the environment are not changed.
    """
    if "torch" not in sys.modules and "GOMP_SPINCOUNT" not in os.environ:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
