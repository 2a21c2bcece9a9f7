"""Python programs on a disk that is soon full: a limit on the size of files stands for it."""

from __future__ import annotations

import subprocess

from command_line import run_python

LIMIT = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
"""
COMMAND = "from attnbank.cli.app import run_command_line\nsys.exit(run_command_line(sys.argv[1:]))"


def run_on_disk(
    limit: int, *args: object, program: str = COMMAND, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run `attnbank ARGS`, or another program, where no file can be larger than `limit` bytes."""
    command = ("-c", f"{LIMIT}{program}", limit, *args)
    return run_python(*map(str, command), env=env)
