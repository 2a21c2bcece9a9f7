"""A process that has imported everything, and forks a process per command that it is asked to run.

A request is one line of JSON on standard input: {"args": [...], "folder": working directory,
"told": file for what the command prints, "env": {...}, "setup": Python code to run first,
"ends_at_once": whether to skip the end of the interpreter}. The answer on standard output is one
line with the id of the new process, and when that has ended, one with its exit status (negative
for a signal). The fork happens before any thread has started, so the new process behaves like one
that was started in the usual way, and also ends like it.
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

import attnbank.cli.commands.banks
import attnbank.cli.commands.compute
import attnbank.cli.commands.info
import attnbank.cli.commands.ingest
import attnbank.cli.commands.query
import attnbank.cli.output
import attnbank.ingest.derived.head_distances
import attnbank.ingest.derived.probes.training
import attnbank.ingest.store.pipeline
import attnbank.queries.export  # noqa: F401
from attnbank.cli import main


def _answer(word: object) -> None:
    os.write(1, f"{word}\n".encode())


def _serve() -> dict[str, object]:
    """Fork for each line; this returns only in the new processes, with the request."""
    gc.collect()
    gc.freeze()  # or each process would visit, and so copy, all these objects at its end
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a new process ignores it until it is ready
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
    except KeyboardInterrupt:  # it came before main began
        sys.exit("Interrupted.")


if __name__ == "__main__":
    _become(_serve())
