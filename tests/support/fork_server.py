"""A process that has imported everything, and forks a process per command that it is asked to run.

What an ingest needs, which takes seconds to import, it has only if its second argument is "fills".
A request comes through the socket that the first argument names, with the three streams of the
command: its length, and JSON with "args", "folder" (the working directory), "env", "setup" (Python
code to run first) and "ends_at_once" (whether to skip the end of the interpreter). The answer is
the id of the new process and, when that has ended, its exit status (negative for a signal), each in
`NUMBER` bytes. The forks happen before any thread has started, so the new process behaves like one
that was started in the usual way, and also ends like it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

import duckdb  # noqa: F401
import polars  # noqa: F401

import attnbank.cli.commands.banks
import attnbank.cli.commands.compute
import attnbank.cli.commands.info
import attnbank.cli.commands.ingest
import attnbank.cli.commands.query
import attnbank.cli.output
import attnbank.sql.export_format
from attnbank.cli import main

if "fills" in sys.argv[2:]:
    import torch  # noqa: F401
    import transformers.models.auto.modeling_auto
    import transformers.models.bert.modeling_bert
    import transformers.models.bert.tokenization_bert  # noqa: F401

    import attnbank.ingest.derived.head_distances
    import attnbank.ingest.derived.probes.training
    import attnbank.ingest.store.pipeline  # noqa: F401

NUMBER = 8


def _serve(address: str) -> socket.socket:
    """Fork for each connection; this returns only in the new processes."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        gc.collect()
        gc.freeze()  # or each process would visit, and so copy, all these objects at its end
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a new process ignores it until it is ready
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the new processes
        print("ready", flush=True)
        while True:
            client, _ = listening.accept()
            if not os.fork():
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return client
            client.close()


def _answer(client: socket.socket) -> None:
    """Run the requested command in one more process; tell its id and its exit status."""
    length, streams, _, _ = socket.recv_fds(client, NUMBER, 3)
    with client.makefile("rb") as file:
        request: dict[str, object] = json.loads(file.read(int(length)))
    child = os.fork()
    if not child:
        client.close()
        for own, stream in enumerate(streams):
            os.dup2(stream, own)
            os.close(stream)
        _become(request)
    for stream in streams:
        os.close(stream)
    client.sendall(f"{child:{NUMBER}}".encode())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    client.sendall(f"{status:{NUMBER}}".encode())
    os._exit(0)


def _become(request: dict[str, object]) -> NoReturn:
    os.setsid()
    os.chdir(str(request["folder"]))
    env, args = request["env"], request["args"]
    assert isinstance(env, dict) and isinstance(args, list)
    os.environ.clear()
    os.environ.update(env)
    exec(str(request["setup"]), {"Path": Path, "args": args})
    sys.argv = ["attnbank", *args]
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except SystemExit as done:
        if request["ends_at_once"]:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(int(done.code or 0))
        raise
    except KeyboardInterrupt:  # it came before main began
        sys.exit("Interrupted.")
    sys.exit(0)


if __name__ == "__main__":
    _answer(_serve(sys.argv[1]))
