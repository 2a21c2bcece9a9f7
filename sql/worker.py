"""A process of its own for work that can crash, hang, or take too much time or memory.

A damaged bank can make the system end the process that reads it; and DuckDB checks its limits, and
looks for a Ctrl-C, only between parts of its work. But a process can be ended at any moment.

Its messages (a letter, a length in eight bytes, and as many bytes) go through a pipe of its own,
since any library may print on standard output. A second pipe closes, and ends it, when the process
that started it is gone; on Linux the system ends a copy of it at once.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import struct
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Self

from attnbank.sql.bank.error_messages import memory_error, worker_crashed
from attnbank.sql.bank.paths import addresses
from attnbank.sql.errors import AttnbankError, AttnbankWarning, BankError, CallError, QueryError
from attnbank.sql.interrupts import postponed

if TYPE_CHECKING:
    import subprocess

    import psutil

LONGEST = 10.0**8
"""The most seconds that can be asked for: about three years."""
INTERRUPT_GRACE = 0.7
"""Seconds that a process has to clear up after an interrupt, before it is killed."""
INTERRUPTED = 130
"""The exit status of work that an interrupt has ended before it could say so."""

_WARNING, _ERROR, _DONE = b"W", b"E", b"D"  # the other letters are the messages of the work itself
_KINDS = {
    error_class.__name__: error_class
    for error_class in (AttnbankError, QueryError, BankError, CallError)
}
_LONGEST_TRACE = 20_000
_CHECKS_EVERY = 0.02
_LAST_STEPS = 10.0
"""Seconds that a process may take to end after its last message."""
_TASKS = Path("/proc/self/task")
"""The threads of this process, on systems that have this folder."""
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from attnbank.sql.worker import main; main(*map(int, sys.argv[2:]))"
)


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


class Channel:
    """Where guarded work sends its messages."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def send(self, kind: bytes, body: bytes | memoryview = b"") -> None:
        """Send a message of one letter and any bytes; W, E and D are taken."""
        self._file.write(kind + struct.pack("<Q", len(body)))
        self._file.write(body)
        self._file.flush()

    def send_warning(self, message: Warning | str, category: type[Warning], *rest: object) -> None:
        """Send a warning of this package, in place of `warnings.showwarning`."""
        if issubclass(category, AttnbankWarning):
            self.send(_WARNING, str(message).encode())


Work = Callable[..., int | None]
"""Called with its Channel and its arguments, it returns an exit status, or None for 0."""


class Guarded:
    """Work that runs in a process of its own; use it in a `with` statement, whose end kills it.

    `messages` gives what it sends. It has its own session, so that a Ctrl-C in the terminal reaches
    only this process.
    """

    status: int | None = None
    """The exit status, once the process has ended: negative for the signal that ended it."""

    def __init__(
        self, path: Path, work: Work, *args: Any, forks: bool = False, pass_fds: Sequence[int] = ()
    ) -> None:
        """Start the process; `path` is the bank that it reads, for the errors.

        With `forks` it is a copy of this one (see `can_fork`), else a new Python, which inherits
        the files `pass_fds`. Raises CallError for arguments that cannot be pickled, or OSError.
        """
        self._path = path
        self._reason: AttnbankError | None = None
        self._turns = threading.Lock()  # whoever reads or closes the pipes
        self._watcher: threading.Thread | None = None
        self._popen: subprocess.Popen[bytes] | None = None
        if not forks:
            request = _pickled(work, args)
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        try:
            if forks:
                self.pid = _fork(work, args, (theirs_in, theirs_out), (ours_in, ours_out))
            else:
                self._popen = _spawn((theirs_in, theirs_out), pass_fds)
                self.pid = self._popen.pid
        except BaseException:
            os.close(ours_in)
            os.close(ours_out)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._in, self._out, self._is_closed = ours_in, ours_out, False
        if not forks:
            with suppress(OSError), os.fdopen(ours_out, "wb", closefd=False) as file:
                file.write(request)  # fails if it has ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def watch(self, check: Callable[[psutil.Process], AttnbankError | None]) -> None:
        """Kill the process for an error that `check` returns in a thread; `messages` raises it."""
        self._watcher = threading.Thread(target=self._watch, args=(check,), daemon=True)
        self._watcher.start()

    def messages(self) -> Iterator[tuple[bytes, bytes]]:
        """The letters and bytes of the messages, until the work has ended; its warnings are given.

        Raises its errors, the one of `watch`, and BankError if it crashed.
        """
        while (message := self._message()) is not None:
            kind, body = message
            if kind == _WARNING:
                warnings.warn(body.decode(), AttnbankWarning, stacklevel=2)
            elif kind == _ERROR:
                raise _error(json.loads(body))
            elif kind == _DONE:
                self._end(_LAST_STEPS)
                return
            else:
                yield kind, body
        self._end(_LAST_STEPS)
        if self._reason is not None:
            raise self._reason
        assert self.status is not None
        if self.status < 0:
            raise worker_crashed(self._path, self.status)
        raise memory_error() or BankError(
            f"The process that read {self._path} ended unexpectedly (status {self.status}).",
            "Try again with less; if that does not help, use an intact copy of the bank.",
        )

    def interrupt(self, grace: float = INTERRUPT_GRACE) -> bool:
        """Pass an interrupt on; kill the process after `grace` seconds. Whether it ended itself."""
        with postponed(), suppress(ProcessLookupError):
            if not self._has_ended():
                os.kill(self.pid, signal.SIGINT)
        self._end(grace)
        return self.status not in (None, INTERRUPTED) and self.status >= 0

    def close(self) -> None:
        """Kill the process, whatever it is doing. Closing twice does no harm."""
        self._end(0.0)
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join()
        with self._turns:
            if not self._is_closed:
                self._is_closed = True
                os.close(self._in)
                os.close(self._out)

    def _end(self, patience: float) -> None:
        """Wait so many seconds for the process to end by itself, then kill it."""
        with postponed():  # an interrupt within Popen.poll can leave its lock taken for good
            ends = time.monotonic() + patience
            while not self._has_ended():
                if time.monotonic() >= ends:
                    with suppress(ProcessLookupError):
                        os.kill(self.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
                time.sleep(0.002)

    def _has_ended(self) -> bool:
        with self._turns:
            if self.status is None and self._popen is not None:
                self.status = self._popen.poll()
            elif self.status is None:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                    self.status = os.waitstatus_to_exitcode(status) if pid else None
                except ChildProcessError:  # somebody else has waited for it
                    self.status = 1
            return self.status is not None

    def _message(self) -> tuple[bytes, bytes] | None:
        head = self._read(9)
        if len(head) < 9:
            return None
        (size,) = struct.unpack("<Q", head[1:])
        body = self._read(size)
        return (bytes(head[:1]), bytes(body)) if len(body) == size else None

    def _read(self, size: int) -> bytearray:
        """So many bytes from the process, or fewer where it has ended.

        Libraries such as Polars let the system restart a read that a Ctrl-C interrupts, and then
        Python learns of it only with the next byte. Waiting for the byte is never restarted.
        """
        received = bytearray()
        while len(received) < size:
            if hasattr(select, "poll"):  # not on Windows, where reading waits
                looked = select.poll()
                looked.register(self._in, select.POLLIN)
                if not looked.poll(100) and not self._is_closed:
                    continue
            with self._turns:
                part = (
                    b"" if self._is_closed else os.read(self._in, min(size - len(received), 2**20))
                )
            if not part:
                break
            received += part
        return received

    def _watch(self, check: Callable[[psutil.Process], AttnbankError | None]) -> None:
        import psutil  # imported late, since few commands need it

        with suppress(psutil.Error):  # it has ended by itself
            looked_at = psutil.Process(self.pid)
            while self.status is None and looked_at.status() != psutil.STATUS_ZOMBIE:
                self._reason = check(looked_at)
                if self._reason is not None:
                    looked_at.kill()
                    return
                time.sleep(_CHECKS_EVERY)


def can_fork() -> bool:
    """Whether a copy of this process can do the work: it has no threads, which are not copied."""
    if not hasattr(os, "fork"):
        return False
    if _TASKS.is_dir():
        return len(list(_TASKS.iterdir())) == 1
    return threading.active_count() == 1 and "duckdb" not in sys.modules


def main(request_from: int, messages_to: int) -> None:
    """Do the work that a request names, in a new Python; the arguments are two pipes."""
    import pickle

    if sys.platform == "win32":
        import msvcrt

        request_from = msvcrt.open_osfhandle(request_from, os.O_RDONLY)
        messages_to = msvcrt.open_osfhandle(messages_to, 0)
    os.dup2(2, 1)  # whatever a library prints goes to standard error, which is the null device
    with os.fdopen(request_from, "rb", closefd=False) as file:
        # Safe: it comes from the process that started this one.
        work, args, of_starter = pickle.load(file)
    addresses().update(of_starter)
    _work(work, args, request_from, messages_to)


def _pickled(work: Work, args: tuple[Any, ...]) -> bytes:
    import pickle  # imported late, since a copy of this process needs none

    try:
        return pickle.dumps((work, args, addresses()))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise CallError(
            f"The values of the statement cannot be given to another process: {error}",
            "Give numbers, texts, dates, and lists of them.",
        ) from error


def _spawn(theirs: tuple[int, int], pass_fds: Sequence[int]) -> subprocess.Popen[bytes]:
    import subprocess

    more: dict[str, Any] = {"pass_fds": (*theirs, *pass_fds)}
    numbers = theirs
    if sys.platform == "win32":
        import msvcrt

        numbers = (msvcrt.get_osfhandle(theirs[0]), msvcrt.get_osfhandle(theirs[1]))
        for signal_number in numbers:
            os.set_handle_inheritable(signal_number, True)
        more = {"close_fds": False}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path), *map(str, numbers)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **more,
    )


def _fork(work: Work, args: tuple[Any, ...], theirs: tuple[int, int], ours: tuple[int, int]) -> int:
    """The id of a copy of this process, which works and never returns."""
    for file in (sys.stdout, sys.stderr):
        file.flush()
    # Interrupts are held back meanwhile, so that only one of the two gets them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    number, parent = -1, os.getpid()
    try:
        number = os.fork()
    finally:
        if number:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if number:
        return number
    _end_with_parent(parent)
    os.setsid()
    for signal_number in ours:
        os.close(signal_number)
    _work(work, args, *theirs, before)


def _end_with_parent(parent: int) -> None:
    """Let the system kill this copy at the end of its parent, whatever it is doing; on Linux.

    The thread that looks for the end of the parent needs its turn, and the bank stays locked
    meanwhile. The system counts the thread that forked as the parent, and that is its only one.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        import ctypes  # imported late, since only copies need it

        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def _work(
    work: Work,
    args: tuple[Any, ...],
    life: int,
    messages_to: int,
    mask: Iterable[int] | None = None,
) -> NoReturn:
    """Do the work, and end at once with its status; a copy gets its `mask` of signals back."""
    status = 1
    with suppress(BrokenPipeError, KeyboardInterrupt), os.fdopen(messages_to, "wb") as file:
        channel = Channel(file)
        try:
            threading.Thread(target=_leave_with, args=(life,), daemon=True).start()
            if mask is None:
                warnings.showwarning = channel.send_warning  # type: ignore[assignment]
            else:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            status = work(channel, *args) or 0
            channel.send(_DONE)
        except KeyboardInterrupt:
            status = INTERRUPTED
        except BaseException as error:
            channel.send(_ERROR, _as_json(error))
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    os._exit(status)


def _leave_with(pipe: int) -> None:
    os.read(pipe, 1)
    os._exit(1)


def _as_json(error: BaseException) -> bytes:
    message = {"kind": "", "fact": f"{type(error).__name__}: {error}", "remedy": ""}
    if isinstance(error, AttnbankError):
        message = {"kind": type(error).__name__, "fact": error.fact, "remedy": error.remedy}
    message["trace"] = traceback.format_exc()[-_LONGEST_TRACE:]
    return json.dumps(message).encode()


def _error(told: dict[str, str]) -> Exception:
    """The error of `_as_json`; a RuntimeError for one that was not expected."""
    error: Exception = RuntimeError(told["fact"])
    if told["kind"]:
        error = _KINDS.get(told["kind"], AttnbankError)(told["fact"], told["remedy"])
    error.add_note(f"In its own process:\n{told['trace']}")
    return error
