"""A process that has imported everything, and forks one that runs a command when it is asked to.

A line of standard input asks: {"args": [...], "folder": working directory, "told": file for what
it prints, "env": {...}, "setup": Python to be run first}. A line of standard output answers with
the number of the new process; another one, when that has ended, with its status (negative for a
signal). Forked before any thread has started, the new process ends as any other does, with the
threads and the modules that it has then.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

import duckdb  # noqa: F401
import polars  # noqa: F401
import torch  # noqa: F401
import transformers.models.auto.modeling_auto
import transformers.models.bert.modeling_bert
import transformers.models.bert.tokenization_bert  # noqa: F401

import attnbank.cli.commands.ask.info
import attnbank.cli.commands.ask.query
import attnbank.cli.commands.fill.compute
import attnbank.cli.commands.fill.demo
import attnbank.cli.commands.fill.probe
import attnbank.cli.commands.keep.delete
import attnbank.cli.commands.keep.export
import attnbank.cli.output
import attnbank.ingest.derived.head_distance
import attnbank.ingest.derived.probes.probing
import attnbank.ingest.store.pipeline
import attnbank.queries.export.exporting  # noqa: F401
from attnbank.cli import main


def _answer(word: object) -> None:
    os.write(1, f"{word}\n".encode())


def _serve() -> dict[str, object]:
    """Fork for each line; returns in the new processes, with what was asked."""
    gc.collect()
    gc.freeze()  # or every process would look through, and so copy, all of them at its end
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # until a new process is ready for it
    _answer("ready")
    for line in sys.stdin:
        asked: dict[str, object] = json.loads(line)
        child = os.fork()
        if not child:
            return asked
        _answer(child)
        _answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    sys.exit(0)


def _become(asked: dict[str, object]) -> NoReturn:
    os.setsid()
    told = os.open(str(asked["told"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, own in ((nothing, 0), (told, 1), (told, 2)):
        os.dup2(descriptor, own)
    os.chdir(str(asked["folder"]))
    env, args = asked["env"], asked["args"]
    assert isinstance(env, dict) and isinstance(args, list)
    os.environ.update(env)
    exec(str(asked["setup"]), {"Path": Path, "args": args})
    sys.argv = ["attnbank", *args]
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except SystemExit as done:
        if asked["ends_at_once"]:
            sys.stdout.flush()
            os._exit(int(done.code or 0))
        raise
    except KeyboardInterrupt:  # before it began
        sys.exit("Interrupted.")


if __name__ == "__main__":
    _become(_serve())
