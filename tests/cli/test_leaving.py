"""A command that has loaded torch ends at once: taking it down would take seconds."""

from __future__ import annotations

import pytest
from command_line import run_python

PROGRAM = """
import atexit, builtins, sys, types
class Late:
    def __del__(self): print("taken down", flush=True)
builtins.late = Late()
atexit.register(print, "told to end")
if {loads}:
    sys.modules["torch"] = types.ModuleType("torch")
from attnbank.cli.app import main
sys.argv = ["attnbank", {argument!r}]
main()
"""


@pytest.mark.parametrize(("argument", "status"), [("--version", 0), ("--nothing", 2)])
@pytest.mark.parametrize("loads", [True, False])
def test_with_torch_nothing_is_taken_down(loads: bool, argument: str, status: int) -> None:
    code = PROGRAM.format(loads=loads, argument=argument)
    done = run_python("-c", code)
    assert done.returncode == status
    assert "told to end" in done.stdout  # what is buffered is written, and libraries are told
    assert ("taken down" in done.stdout) != loads
    assert "attnbank" in done.stdout + done.stderr
