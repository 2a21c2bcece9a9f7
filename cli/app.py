"""The command `attnbank`, a group of commands, and the function that runs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from keyword import iskeyword
from typing import NoReturn

import click

from attnbank.cli.endings import status_of, warnings_told
from attnbank.cli.options import BankGroup, help_if_alone
from attnbank.cli.printing import closed, say

COMMANDS = {
    "demo": "fill", "ingest": "fill", "info": "ask", "queries": "ask", "query": "ask",
    "plot": "see", "show": "see", "report": "see", "explore": "see", "find": "ask", "count": "ask",
    "score": "ask", "save": "keep", "saved": "keep", "use": "keep", "compute": "fill",
    "probe": "fill", "sql": "ask", "shell": "ask", "schema": "ask", "export": "keep",
    "import": "keep", "merge": "keep", "upgrade": "keep", "delete": "keep",
}  # fmt: skip
"""The commands, in the order in which the help lists them, and the folder of each."""


class App(BankGroup):
    """A group that imports the module of a command only when the command is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with that name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        place = f"attnbank.cli.commands.{COMMANDS[cmd_name]}.{module}"
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
    """Open the null device for standard input, output or error if it is closed.

    Otherwise the next file that is opened, which is the bank, would get its number, and what is
    printed would be written into the bank.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None and number:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
            closed.add(name)


def _complete() -> NoReturn:
    """Answer a shell that asks for completions; print nothing if anything goes wrong."""
    try:
        app.main(prog_name="attnbank")
    except Exception:
        sys.exit(1)


def run(args: Sequence[str]) -> int:
    """Run a command line and return its exit status. Errors are printed on standard error."""
    debug = "--debug" in args

    def work() -> None:
        with app.make_context("attnbank", list(args)) as ctx:
            app.invoke(ctx)

    with warnings_told(debug):
        return status_of(work, debug)
