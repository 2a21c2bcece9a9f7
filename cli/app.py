"""The group of commands, and what becomes of every error."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module, metadata
from typing import NoReturn

import click

from attnbank.cli.options import BankGroup, help_if_alone
from attnbank.cli.printing import closed, say
from attnbank.sql.errors import AttnbankError, AttnbankWarning

COMMANDS = {
    "demo": "fill", "ingest": "fill", "info": "ask", "queries": "ask", "query": "ask",
    "use": "keep", "compute": "fill", "probe": "fill", "sql": "ask", "shell": "ask",
    "schema": "ask", "export": "keep", "upgrade": "keep", "delete": "keep",
}  # fmt: skip
"""The commands, in the order in which a newcomer meets them, and the folder of each."""


class App(BankGroup):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        place = f"attnbank.cli.commands.{COMMANDS[cmd_name]}.{cmd_name}"
        command = import_module(place).command
        assert isinstance(command, click.Command)
        return command


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        say(f"attnbank {metadata.version('attnbank')}")
        ctx.exit()


app = App(
    name="attnbank",
    help=(
        "Ask a database what the attention heads of a transformer look at.\n\n"
        "A bank is one DuckDB file. `ingest` fills it from annotated text and a model; "
        "`query` answers from it.\n\n"
        "\b\nExample:\n  attnbank demo\n\n"
        "\b\nThe tab key completes commands, options, runs, relations and tables after\n"
        '  bash  eval "$(_ATTNBANK_COMPLETE=bash_source attnbank)"\n'
        '  zsh   eval "$(_ATTNBANK_COMPLETE=zsh_source attnbank)"\n'
        "  fish  _ATTNBANK_COMPLETE=fish_source attnbank | source"
    ),
    invoke_without_command=True,
    callback=help_if_alone,
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version.",
        )
    ],
)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run a command line and exit with 0, 1 (the data or query is wrong) or 2 (the call is)."""
    _open_closed()
    if "_ATTNBANK_COMPLETE" in os.environ:
        _complete()
    sys.exit(run(sys.argv[1:] if args is None else args))


def _open_closed() -> None:
    """Put the null device where standard input, output or error is closed.

    The next file that is opened would take its place: the bank, and what is printed would go there.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None and number:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
            closed.add(name)


def _complete() -> NoReturn:
    """Answer the shell that asks what can follow; without a word where that goes wrong."""
    try:
        app.main(prog_name="attnbank")
    except Exception:
        sys.exit(1)


def run(args: Sequence[str]) -> int:
    """Run a command line; its exit status. Errors are told on standard error."""
    debug = "--debug" in args
    try:
        with warnings.catch_warnings():
            _tell_warnings(debug)
            with app.make_context("attnbank", list(args)) as ctx:
                app.invoke(ctx)
            sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except BrokenPipeError:  # the reader has had enough (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort):
        _tell("Interrupted.")
        return 1
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if isinstance(error, RuntimeError) and str(error) == "Query interrupted":  # by DuckDB
            _tell("Interrupted.")
            return 1
        if debug:
            traceback.print_exc()
        fact, remedy, status = _explained(error)
        _tell(f"Error: {fact}")
        if remedy:
            _tell(remedy)
        return status
    return 0


def _explained(error: BaseException) -> tuple[str, str, int]:
    """What an error means, what to type, and the exit status."""
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
    """Print one line on standard error, and one it stays."""
    say(text, err=True)


def _tell_warnings(debug: bool) -> None:
    """Warnings of this package as one line; those of the libraries only with --debug."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: object) -> None:
        if issubclass(category, AttnbankWarning):
            _tell(f"Warning: {message}")
        elif debug:
            usual(message, category, *rest)  # type: ignore[arg-type]

    warnings.showwarning = show  # type: ignore[assignment]
    warnings.simplefilter("always", AttnbankWarning)
