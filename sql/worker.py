"""A generator in a process of its own, for work that can crash, hang, or take too much.

A damaged bank can make the system end the process that reads it; and DuckDB checks its limits, and
looks for a Ctrl-C, only between parts of its work. But a process can be killed at any moment.

What the generator yields, warns of and raises comes back over the standard output of the process:
as JSON and Arrow, never pickled, since a bank that somebody sent may have taken it over. Its
standard input brings the request, and ends it by closing, together with the process that started
it; on Linux the system ends it at once.
"""

from __future__ import annotations

import io
import json
import math
import os
import queue
import signal
import struct
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Self

from attnbank.sql.errors import (
    AttnbankError,
    AttnbankWarning,
    BankError,
    CallError,
    QueryError,
    worker_crashed,
)
from attnbank.sql.interrupts import postponed
from attnbank.sql.paths import addresses

if TYPE_CHECKING:
    import psutil

# The longest time limit, in seconds: about three years.
LONGEST = 10.0**8

# The kinds of messages. Each is followed by the length of its body in eight bytes, and the body.
_ITEM, _FRAME, _WARNING, _ERROR, _DONE = b"I", b"F", b"W", b"E", b"D"

_ERRORS = {error.__name__: error for error in (AttnbankError, QueryError, BankError, CallError)}
_LARGEST_MESSAGE = 2**31
_LONGEST_TRACE = 20_000
_SECONDS_BETWEEN_CHECKS = 0.02
# Not -m, which finds this module only where PYTHONPATH does: a path may contain what divides paths.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from attnbank.sql.worker import main; main()"
)


class Worker:
    """A generator in a new process; iterating gives what it yields: JSON values and Polars frames.

    Use it in a `with` statement, whose end kills the process.
    """

    def __init__(
        self,
        path: Path,
        function: Callable[..., Iterable[Any] | None],
        *args: Any,
        check: Callable[[psutil.Process], AttnbankError | None] = lambda process: None,
    ) -> None:
        """Start the process; `path` is the bank that it reads, for the errors.

        `check` is called in a thread, fifty times a second: the process is killed for an error
        that it returns. Raises CallError for arguments that cannot be pickled, or OSError.
        """
        import pickle  # imported late, as subprocess: most commands start no process
        import subprocess

        # The system counts the thread that starts a process as its parent, and others may end.
        is_main = threading.current_thread() is threading.main_thread()
        try:
            self._request = pickle.dumps(
                (function, args, addresses(), os.getpid() if is_main else None)
            )
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise CallError(
                f"The values of the statement cannot be given to another process: {error}",
                "Give numbers, texts, dates, and lists of them.",
            ) from error
        self._path, self._check = path, check
        self._status = 0
        self._reason: AttnbankError | None = None
        self._is_closed = threading.Event()
        self._messages: queue.Queue[tuple[bytes, bytes] | None] = queue.Queue(1)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        try:
            with postponed():
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # a Ctrl-C in the terminal reaches only this process
                )
                self.pid = self._process.pid
                self._reader.start()
                self._watcher.start()
        except KeyboardInterrupt:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        """What the generator yields. Its warnings are given, and its errors raised.

        Raises the error of `check`, and BankError if the process crashed.
        """
        while (message := self._next_message()) is not None:
            kind, body = message
            if kind == _ITEM:
                yield json.loads(body)
            elif kind == _FRAME:
                import polars as pl

                yield pl.read_ipc_stream(body)
            elif kind == _WARNING:
                warnings.warn(body.decode(), AttnbankWarning, stacklevel=2)
            elif kind == _ERROR:
                raise _error_of_json(json.loads(body))
            else:
                return
        raise self._reason or worker_crashed(self._path, self._status)

    def close(self) -> None:
        """Kill the process, whatever it is doing. Closing twice does no harm."""
        self._is_closed.set()
        assert self._process.stdin is not None and self._process.stdout is not None
        with postponed():
            while self._watcher.is_alive():
                with suppress(queue.Empty):  # they may wait until they can put a message there
                    self._messages.get_nowait()
                self._watcher.join(0.002)
            self._process.stdout.close()
            with suppress(OSError):  # the request was not read
                self._process.stdin.close()

    def _next_message(self) -> tuple[bytes, bytes] | None:
        while self._watcher.is_alive() or not self._messages.empty():
            with suppress(queue.Empty):
                return self._messages.get(timeout=0.1)  # without a timeout, Ctrl-C may wait for it
        return None

    def _read(self) -> None:
        """Give the request and read the messages, in a thread: a read may not be interruptible."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError, ValueError, MemoryError):  # it has ended
            self._process.stdin.write(self._request)
            self._process.stdin.flush()
            while len(head := self._process.stdout.read(9)) == 9:
                size = int.from_bytes(head[1:], "little")
                if size > _LARGEST_MESSAGE or len(body := self._process.stdout.read(size)) < size:
                    break
                self._messages.put((head[:1], body))

    def _watch(self) -> None:
        """Check and wait for the process, in a thread: an interrupt in Popen.wait can hang it."""
        import psutil  # imported late, as above

        process = psutil.Process(self.pid)
        while self._process.poll() is None:
            if not self._is_closed.wait(_SECONDS_BETWEEN_CHECKS):
                with suppress(psutil.Error, OSError):  # it has just ended
                    self._reason = self._check(process)
            if self._reason is not None or self._is_closed.is_set():
                self._process.kill()
                self._process.wait()
        self._status = self._process.returncode
        self._reader.join()
        self._messages.put(None)


def _error_of_json(message: dict[str, str]) -> Exception:
    """The error of the generator; a RuntimeError for one that was not expected."""
    error: Exception = RuntimeError(message["fact"])
    if message["kind"]:
        error = _ERRORS.get(message["kind"], AttnbankError)(message["fact"], message["remedy"])
    error.add_note(f"In its own process:\n{message['trace']}")
    return error


def main() -> NoReturn:
    """Run the generator of the request on standard input, in the new process, and end it."""
    import pickle

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Windows the terminal interrupts both
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints goes to standard error, which is the null device
    # Safe: the request comes from the process that started this one.
    function, args, of_starter, parent = pickle.load(sys.stdin.buffer)
    if parent is not None:
        end_with_parent(parent)
    threading.Thread(target=_end_with_input, daemon=True).start()
    addresses().update(of_starter)

    def send_warning(message: Warning | str, category: type[Warning], *rest: object) -> None:
        if issubclass(category, AttnbankWarning):
            _send(messages, _WARNING, str(message).encode())

    warnings.showwarning = send_warning  # type: ignore[assignment]
    with suppress(BrokenPipeError):
        try:
            for item in function(*args) or ():
                if hasattr(item, "write_ipc_stream"):
                    item.write_ipc_stream(body := io.BytesIO())
                    _send(messages, _FRAME, body.getbuffer())
                else:
                    _send(messages, _ITEM, json.dumps(item).encode())
            _send(messages, _DONE)
        except BrokenPipeError:
            raise
        except BaseException as error:
            message = {"kind": "", "fact": f"{type(error).__name__}: {error}", "remedy": ""}
            if isinstance(error, AttnbankError):
                message = {"kind": type(error).__name__, "fact": error.fact, "remedy": error.remedy}
            message["trace"] = traceback.format_exc()[-_LONGEST_TRACE:]
            _send(messages, _ERROR, json.dumps(message).encode())
    os._exit(0)


def _send(messages: BinaryIO, kind: bytes, body: bytes | memoryview = b"") -> None:
    messages.write(kind + struct.pack("<Q", len(body)))
    messages.write(body)
    messages.flush()


def _end_with_input() -> None:
    sys.stdin.buffer.read(1)
    os._exit(1)


def end_with_parent(parent: int) -> None:
    """End this process with its parent: at once on Linux, whatever it is doing, else soon after.

    A thread that looks for that end needs its turn, and the bank stays locked meanwhile.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            import ctypes  # imported late, since only these processes need it

            ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it has ended already
            os._exit(1)
    else:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:  # on Windows it stays the same: there the input closes
        time.sleep(_SECONDS_BETWEEN_CHECKS)
    os._exit(1)


def check_limits(seconds: float, memory: int) -> None:
    """Raise CallError for limits out of range: `seconds`, or `memory` in bytes."""
    if not (math.isfinite(seconds) and 0 < seconds <= LONGEST):
        raise CallError(
            f"A statement cannot take {seconds} seconds.",
            f"Give a number above 0, up to {LONGEST:.0f}.",
        )
    if not 10**7 <= memory < 2**62:
        raise CallError(
            f"A statement cannot take {memory} bytes of memory.", "Give at least 10 MB."
        )


def out_of_time(seconds: float) -> QueryError:
    """The error for a statement that did not end in time."""
    return QueryError(
        f"The statement took longer than {seconds:g} seconds.",
        "Make it smaller, or give it more time (--timeout, seconds=).",
    )


def out_of_memory(memory: int) -> QueryError:
    """The error for a statement that needs more than `memory` bytes."""
    return QueryError(
        f"The statement needs more memory than it may take ({memory / 1e9:g} GB).",
        "Filter by sequence, layer or head first, or give it more (--memory, memory=).",
    )
