"""Larger trained models as folders, if a script beside the real corpora can fetch them.

The variable ATTNBANK_MODELS can name a folder that has them already.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import real_text

NAMES = ("mpnet", "smollm2", "en_core_web_sm")
_PATIENCE = 900.0


@cache
def get(name: str) -> Path | None:
    """The folder of mpnet, smollm2 or spaCy's en_core_web_sm; None if it cannot be had.

    If several processes run tests, one fetches it and the others wait.
    """
    given = os.environ.get("ATTNBANK_MODELS")
    if given is not None:
        folder = Path(given, name)
        return folder if folder.is_dir() else None
    corpora = real_text.find()
    script = None if corpora is None else corpora.resolve().parent / "models" / "get"
    if script is None or not script.exists():
        return None
    folder = Path(tempfile.gettempdir(), f"attnbank-models-{os.getuid()}", name)
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    if folder.parent.stat().st_uid != os.getuid():
        return None
    done = folder.with_suffix(".done")
    if _fetches(folder):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        found = subprocess.run(
            ["bash", str(script), name, str(folder)], env={**os.environ, "PATH": path}, check=False
        )
        done.write_text(str(found.returncode))
    end = time.monotonic() + _PATIENCE
    while not done.exists() and time.monotonic() < end:
        time.sleep(1)
    return folder if done.exists() and done.read_text() == "0" else None


def _fetches(folder: Path) -> bool:
    """Whether this process must fetch the model: the first one to ask makes a lock file."""
    try:
        folder.with_suffix(".lock").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
