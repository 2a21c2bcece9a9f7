"""How a command ends: every error and warning becomes words and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from attnbank.cli.printing import say
from attnbank.sql.errors import AttnbankError, AttnbankWarning


def status_of(work: Callable[[], None], debug: bool) -> int:
    """Call a function, print on standard error what goes wrong, and return the exit status.

    With `debug` the whole traceback is printed too.
    """
    try:
        work()
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except BrokenPipeError:  # the program that reads the output has ended (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort):
        _tell("Interrupted.")
        return 1
    except BaseException as error:
        # A panic of Polars is no Exception, but is an error of the result like any other.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if isinstance(error, RuntimeError) and str(error) == "Query interrupted":  # by DuckDB
            _tell("Interrupted.")
            return 1
        if debug:
            traceback.print_exc()
        fact, remedy, status = explained(error)
        _tell(f"Error: {fact}")
        if remedy:
            _tell(remedy)
        return status
    return 0


@contextmanager
def warnings_told(debug: bool) -> Iterator[None]:
    """Within, warnings of this package are printed as one line; others only with `debug`."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: object) -> None:
            if issubclass(category, AttnbankWarning):
                _tell(f"Warning: {message}")
            elif debug:
                usual(message, category, *rest)  # type: ignore[arg-type]

        warnings.showwarning = show  # type: ignore[assignment]
        warnings.simplefilter("always", AttnbankWarning)
        yield


def explained(error: BaseException) -> tuple[str, str, int]:
    """What an error means, what to type, and the exit status of a command that fails with it."""
    if isinstance(error, AttnbankError):
        return error.fact, error.remedy, error.status
    if isinstance(error, click.UsageError):
        fact, where = error.format_message(), error.ctx
        if isinstance(error, click.MissingParameter) and error.param is not None:
            fact = f"{(error.param.human_readable_name or '').upper()} is missing."
        remedy = f"See: {where.command_path} --help" if where is not None else ""
        return fact, remedy, 2
    if isinstance(error, click.ClickException):
        return error.format_message(), "", 1
    if isinstance(error, (OSError, MemoryError)):
        text = getattr(error, "strerror", None) or str(error) or "out of memory"
        name = getattr(error, "filename", None)
        return f"{name}: {text}." if name else f"{text}.", "See all of it with --debug.", 1
    if type(error).__module__ in ("duckdb", "_duckdb"):
        return (
            f"The bank cannot be used: {_first(error)}",
            "Use a copy of it that is whole (-b FILE), or bring it up to date: attnbank upgrade",
            1,
        )
    if type(error).__name__ == "PanicException":  # of Polars
        return f"Polars cannot hold the result: {_first(error)}", "Cast it to varchar in SQL.", 1
    return (
        f"unexpected {type(error).__name__}: {_first(error)}",
        "This is a fault of attnbank; --debug shows where.",
        1,
    )


def _first(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else ""


def _tell(text: str) -> None:
    """Print one line on standard error, with its control characters escaped."""
    say(text, err=True)
