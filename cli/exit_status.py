"""How a command ends: every error and warning becomes words and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import click

from attnbank.cli.safe_echo import safe_echo
from attnbank.sql.errors import (
    AttnbankError,
    AttnbankWarning,
    BankError,
    cause_of,
    damaged,
    first_line,
)
from attnbank.sql.paths import typed_path


def exit_status_of(work: Callable[[], None], debug: bool, bank: Path | None = None) -> int:
    """Call `work`, print its error if it fails, and return the exit status.

    With `debug` also print the traceback. `bank` is the bank that `work` reads, as for
    `error_message`.
    """
    try:
        work()
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except BrokenPipeError:  # the program that reads the output has ended (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseException as error:
        of_duckdb = isinstance(error, RuntimeError) and str(error) == "Query interrupted"
        if of_duckdb or isinstance(error, (KeyboardInterrupt, click.Abort)):
            safe_echo("Interrupted.", err=True)
            return 1
        # A panic of Polars is not an Exception, but an error of the result like any other.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if debug:
            traceback.print_exc()
        fact, remedy, status = error_message(error, bank)
        safe_echo(f"Error: {fact}", *filter(None, [remedy]), err=True)
        return status
    return 0


@contextmanager
def print_warnings(debug: bool) -> Iterator[None]:
    """Context manager that prints the package's warnings, a line each; others only with `debug`."""
    with warnings.catch_warnings():
        show_other = warnings.showwarning

        def print_warning(message: Warning | str, category: type[Warning], *rest: object) -> None:
            if issubclass(category, AttnbankWarning):
                safe_echo(f"Warning: {message}", err=True)
            elif debug:
                show_other(message, category, *rest)  # type: ignore[arg-type]

        warnings.showwarning = print_warning  # type: ignore[assignment]
        warnings.simplefilter("always", AttnbankWarning)
        yield


def error_message(error: BaseException, bank: Path | None = None) -> tuple[str, str, int]:
    """Return the message of an error, what to type, and the exit status of the command.

    An unexpected error may be due to damaged rows of `bank`, which are then checked.
    """
    if isinstance(error, AttnbankError):
        return error.fact, error.remedy, error.status
    if (cause := cause_of(error)) is not None:
        return cause.fact, cause.remedy, cause.status
    if isinstance(error, click.UsageError):
        fact, where = error.format_message(), error.ctx
        if isinstance(error, click.MissingParameter) and error.param is not None:
            is_option = isinstance(error.param, click.Option)
            missing = error.param.opts[0] if is_option else error.param.human_readable_name.upper()
            fact = f"{missing} is missing."
        return fact, f"See: {where.command_path} --help" if where is not None else "", 2
    if isinstance(error, click.ClickException):
        return error.format_message(), "", 1
    if isinstance(error, (OSError, MemoryError)):
        text = str(getattr(error, "strerror", None) or error or "out of memory")
        name = getattr(error, "filename", None)
        return f"{name}: {text}." if name else f"{text}.", "Use --debug for the full traceback.", 1
    if type(error).__module__ in ("duckdb", "_duckdb"):
        remedy = "Use an intact copy (-b FILE), or upgrade it: attnbank upgrade"
        return f"The bank cannot be used: {first_line(error)}", remedy, 1
    if type(error).__name__ == "PanicException":  # of Polars
        fact = f"Polars cannot hold the result: {first_line(error)}"
        return fact, "Cast it to varchar in SQL.", 1
    if bank is not None and (damage := _damage_in(bank)):
        return damage.fact, damage.remedy, damage.status
    fact = f"unexpected {type(error).__name__}: {first_line(error)}"
    return fact, "This is a bug in attnbank; --debug shows where.", 1


def _damage_in(bank: Path) -> BankError | None:
    """The error for damaged rows of a bank; None if they are intact or cannot be read."""
    from attnbank.sql.bank.opening import fault_of_rows, open_to_read

    with suppress(Exception), closing(open_to_read(bank)) as connection:
        if fault := fault_of_rows(connection):
            return damaged(typed_path(bank), fault)
    return None
