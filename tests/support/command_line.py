"""Runs attnbank's command line: in this process (the fixture cli), or Python in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Printed(NamedTuple):
    out: str
    err: str


class Cli(Protocol):
    """Runs `attnbank ARGS`, and asserts its exit status."""

    def __call__(self, *args: object, status: int = 0) -> Printed: ...


def run_python(
    *args: object, env: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGS` with the modules that the tests see; options as of subprocess.run.

    `env` changes the environment of the tests.
    """
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | (env or {})
    return subprocess.run(
        [sys.executable, *map(str, args)], capture_output=True, text=True, env=variables, **options
    )


def run_attnbank(*args: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `attnbank ARGS` in a process of its own."""
    return run_python("-m", "attnbank", *args, **options)
