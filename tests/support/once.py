"""Banks, models and other folders that are made once for all processes of a run of the tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock


@dataclass(frozen=True)
class Once:
    """Fills folders below `top`: the first process that asks for a name fills its folder.

    The others wait, and read. So nobody may write into it afterwards.
    """

    top: Path

    def __call__(self, name: str, fill: Callable[[Path], Any]) -> Path:
        """The folder of a name, after `fill` was called with it here or elsewhere."""
        from costs import METER  # a plugin, which pytest loads after what conftest.py imports

        folder, done = self.top / name, self.top / f"{name}.done"
        self.top.mkdir(exist_ok=True)
        with FileLock(self.top / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # what a failure has left
                folder.mkdir()
                with METER.account("fixture", f"once::{name}"):
                    fill(folder)
                done.touch()
        return folder
