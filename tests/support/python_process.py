"""Python programs in processes of their own, also on a disk that is soon full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

LIMIT = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
"""
COMMAND = "from attnbank.cli.app import run_command_line\nsys.exit(run_command_line(sys.argv[1:]))"

Done = subprocess.CompletedProcess[str]


def run_python(*args: object, folder: Path | None = None, **env: str) -> Done:
    """Run `python ARGS` to its end in a folder, with more variables of the environment."""
    known = {"PYTHONPATH": os.pathsep.join(sys.path)} | env
    return subprocess.run(
        [sys.executable, *map(str, args)], cwd=folder, env=os.environ | known,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def run_on_disk(limit: int, *args: object, program: str = COMMAND, **env: Any) -> Done:
    """Run `attnbank ARGS`, or another program, where no file can be larger than `limit` bytes."""
    return run_python("-c", f"{LIMIT}{program}", limit, *args, **env)
