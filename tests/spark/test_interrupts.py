"""Interrupts while Spark answers or fills an export: it ends soon, in plain words, with its JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest
from fixture_types import Models

pytestmark = pytest.mark.slow

SMALL_PARTS = """
import attnbank.ingest.parts as parts
parts.WEIGHTS = 40_000
"""
TOLD_OF_STATEMENTS = """
from pathlib import Path
from pyspark.sql import SparkSession

sql = SparkSession.sql

def noted(session, *statement):
    Path("statement").touch()
    return sql(session, *statement)

SparkSession.sql = noted
"""


def _interrupted(
    args: Sequence[str],
    folder: Path,
    is_time: Callable[[list[psutil.Process]], bool],
    number: int = signal.SIGINT,
    before: str = SMALL_PARTS,
) -> str:
    """What a command prints that is interrupted when it is time; no process is left of it.

    `is_time` is asked with the processes that the command has started, which get the signal, too.
    `before` is what the process runs before the command.
    """
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    code = f"{before}from attnbank.cli import main\nmain()"
    running = subprocess.Popen(
        [sys.executable, "-c", code, *args],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    own = psutil.Process(running.pid)
    while not is_time(children := own.children(recursive=True)):
        assert running.poll() is None, running.communicate()[0]
        time.sleep(0.05)
    os.killpg(running.pid, number)  # as a terminal and `timeout` do
    message, _ = running.communicate(
        timeout=60
    )  # much more than it takes, for machines that are busy
    assert running.returncode == 1
    _, left = psutil.wait_procs(children, timeout=30)
    assert not left
    return message


def test_while_the_jvm_starts(folder: Path, tmp_path: Path) -> None:
    args = ["query", "best_head", "--engine", "spark", "--data", str(folder)]
    assert _interrupted(args, tmp_path, lambda children: bool(children)) == "Interrupted.\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["sigterm", "sigint"])
def test_while_a_statement_runs(folder: Path, tmp_path: Path, number: int) -> None:
    """py4j has a traceback logged, which is not printed."""
    args = ["query", "best_head", "--engine", "spark", "--data", str(folder)]
    started = tmp_path / "statement"
    printed = _interrupted(args, tmp_path, lambda _: started.exists(), number, TOLD_OF_STATEMENTS)
    assert printed == "Interrupted.\n"


def test_what_py4j_logs_is_not_printed(tmp_path: Path) -> None:
    """An interrupt in the middle of a call has it log to both of these."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    code = """
import logging
from attnbank.queries.spark_sessions import session_of

with session_of():
    logging.exception("Exception while sending command.")
    logging.getLogger("py4j.clientserver").error("Exception occurred.")
"""
    running = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert running.stdout + running.stderr == ""


@pytest.mark.soak
def test_parts_that_are_whole_are_kept(sample: Path, tiny_model: Models, tmp_path: Path) -> None:
    args = ["ingest", str(sample), "--model", str(tiny_model("bert")), "--batch-tokens", "64"]
    args += ["--engine", "spark", "--master", "local[1]", "--to", "filled"]
    parts = tmp_path / ".filled.ingest" / "parts.jsonl"
    printed = _interrupted(args, tmp_path, lambda _: parts.exists() and parts.stat().st_size > 0)
    assert "Traceback" not in printed
    last = printed.splitlines()[-1]
    assert (
        last.startswith("Error: Interrupted; ")
        and "are kept. Run the same command to resume." in last
    )
    assert not last.startswith("Error: Interrupted; 0 batches")
    assert not (tmp_path / "filled").exists()
