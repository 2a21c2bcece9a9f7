"""`attnbank sql`, `shell` and `schema`: statements of one's own, and the tables that they read."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from attnbank.cli.exit_status import command
from attnbank.cli.options import (
    BankCommand,
    bank_path,
    complete_names,
    memory_option,
    open_named_bank,
    option,
    text_argument,
)
from attnbank.cli.output import (
    FOR_PEOPLE,
    MOST_ROWS,
    check_output,
    check_reader,
    output_options,
    write_frame,
    write_frames,
)
from attnbank.cli.safe_echo import notify
from attnbank.sql.bank.paths import bank_file
from attnbank.sql.errors import AttnbankError


@command(
    "sql", '"select upos, count(*) as n from word group by upos order by n desc"', cls=BankCommand
)
@text_argument("statement")
@option("--timeout", "Time limit in seconds, until the last row.", 300.0, is_seconds=True)
@memory_option("Memory limit.")
@output_options
def sql(ctx: click.Context, statement: str, timeout: float, memory: int) -> None:
    """Run a SELECT of your own on the bank.

    STATEMENT is one read-only statement, in quotes, or - for standard input. It cannot write,
    nor access files or the network, and is stopped at its time or memory limit. A table shows
    the first 10,000 rows; formats for programs have all of them.
    """
    from attnbank.queries.execution import Isolated

    most = MOST_ROWS if check_output(ctx) in FOR_PEOPLE else None
    with Isolated(bank_path(ctx), statement, None, timeout, memory, most) as running:
        running.on_count = lambda: check_reader(ctx)
        write_frames(ctx, running, count=lambda: running.count)
    if not running.count:
        from attnbank.queries.parameters import analyses_called, reasons_without_rows

        if analyses_called(statement):
            with open_named_bank(ctx) as bank:
                for reason in reasons_without_rows(bank, statement):
                    notify(reason)


@command(
    "shell",
    "-c \"from best_head(relation := 'obj')\"",
    cls=BankCommand,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def shell(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Open the DuckDB shell on the bank, read-only.

    ARGUMENTS are passed to the shell.
    """
    from attnbank.sql.bank.upgrading import check_carried

    binary = find_shell()
    path = bank_file(bank_path(ctx))
    with open_named_bank(ctx) as bank:  # for clearer errors than the shell's
        check_carried(bank.connection, path, "the shell")
    sys.stdout.flush()
    os.execv(binary, [binary, "-readonly", str(path), *arguments])


def find_shell() -> str:
    """Find the duckdb program, beside this Python or on the PATH. Raises AttnbankError."""
    beside = Path(sys.executable).parent / "duckdb"
    path = str(beside) if beside.exists() else shutil.which("duckdb")
    if path is None:
        raise AttnbankError(
            "The DuckDB shell is not installed.",
            "In a clone of attnbank, type: pip install '.[shell]' (or take it from duckdb.org, 1.5"
            " or newer).",
        )
    return path


@command("schema", "attention")
@click.argument("table", required=False, shell_complete=complete_names("table"))
@output_options
def schema(ctx: click.Context, table: str | None) -> None:
    """Show the tables, views and analyses of the bank, or the columns of one.

    If a table and an analysis have the same name, TABLE is the table; for the analysis, type
    'head_distance()', in quotes.
    """
    with open_named_bank(ctx) as bank:
        frame = bank.schema(table)
    write_frame(ctx, frame, wraps=True)
