"""The command `attnbank`, a group of commands, and the function that runs it."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from attnbank.cli.exit_status import exit_status_of, print_warnings
from attnbank.cli.options import BankGroup
from attnbank.cli.safe_echo import closed
from attnbank.sql.interrupts import ignore_interrupts

# The modules of commands by the headings of the help, each with its commands.
SECTIONS = {
    "Fill a bank": {
        "ingest": ["demo", "ingest"], "compute": ["compute", "probe"], "banks": ["annotate"]
    },
    "Run the model again": {"ingest": ["surprisal", "ablate"]},
    "Query a bank": {"info": ["info"], "query": ["queries", "query", "sql", "shell", "schema"]},
    "Search with requests": {"find": ["find", "count", "score"]},
    "Save requests as relations": {"find": ["save", "saved"]},
    "Pictures and pages": {
        "pictures": ["plot", "show", "report", "explore"], "publish": ["publish"],
    },
    "Manage banks": {
        "banks": ["use", "delete", "upgrade", "export", "import", "merge", "fetch"],
    },
}  # fmt: skip


class App(BankGroup):
    """A group that imports the module of a command only when the command is needed."""

    def sections(self) -> dict[str, list[str]]:
        """The names of the commands by heading."""
        return {
            title: [name for names in modules.values() for name in names]
            for title, modules in SECTIONS.items()
        }

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command with that name; None if there is none."""
        for modules in SECTIONS.values():
            for module, names in modules.items():
                if cmd_name in names:
                    values = vars(import_module(f"attnbank.cli.commands.{module}")).values()
                    commands = (value for value in values if isinstance(value, click.Command))
                    return next(command for command in commands if command.name == cmd_name)
        return None


app = App(
    "attnbank",
    help=(
        "Ask a database what the attention heads of a transformer look at.\n\n"
        "A bank is one DuckDB file. `ingest` fills it from annotated text and a model; "
        "`query` runs analyses on it.\n\n"
        "\b\nExample:\n  attnbank demo\n\n"
        "\b\nFormats of results (-f, or the name of the file of -o):\n"
        "  table, markdown, latex     rounded, for people; latex needs booktabs\n"
        "  csv, tsv                   text unchanged, even where a spreadsheet reads a formula\n"
        "                             (=, +, -, @)\n"
        "  json, jsonl, parquet       full precision; json has null for NaN and infinity\n\n"
        "\b\nTo complete commands, options, runs, relations and tables with the tab key:\n"
        '  bash  eval "$(_ATTNBANK_COMPLETE=bash_source attnbank)"\n'
        '  zsh   eval "$(_ATTNBANK_COMPLETE=zsh_source attnbank)"\n'
        "  fish  _ATTNBANK_COMPLETE=fish_source attnbank | source"
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(
    package_name="attnbank", prog_name="attnbank", message="%(prog)s %(version)s",
    help="Print the version.",
)(app)  # fmt: skip


def main() -> NoReturn:
    """Run the command line and exit with 0, 1 (the data or query is wrong) or 2 (the call is)."""
    _open_closed()
    if "_ATTNBANK_COMPLETE" in os.environ:
        try:
            app.main(prog_name="attnbank")
        except Exception:  # the shell that asks for completions must not show why there are none
            sys.exit(1)
    _leave(run_command_line(sys.argv[1:]))


def _leave(status: int) -> NoReturn:
    """End the process without shutting torch down, which takes seconds on a busy machine."""
    if "torch" not in sys.modules:
        sys.exit(status)
    ignore_interrupts()  # libraries that clean up would print a traceback
    atexit._run_exitfuncs()  # os._exit skips them, and libraries rely on them
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader has gone
            stream.flush()
    os._exit(status)


def _open_closed() -> None:
    """Open the null device for standard input, output or error if it is closed.

    The next file that is opened takes the number of a closed stream: that would be the bank,
    and what is printed would be written into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None and number:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
            closed.add(name)


def run_command_line(args: Sequence[str]) -> int:
    """Run a command line and return its exit status. Errors are printed on standard error."""
    debug = "--debug" in args

    def invoke() -> None:
        with app.make_context("attnbank", list(args)) as ctx:
            app.invoke(ctx)

    with print_warnings(debug):
        return exit_status_of(invoke, debug)
