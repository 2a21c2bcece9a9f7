"""`attnbank sql STATEMENT`: any SELECT, in a sandbox."""

from __future__ import annotations

import sys

import click

from attnbank.cli.options import BankCommand, Bytes, Seconds, bank_path, output_options


@output_options
@click.command(cls=BankCommand)
@click.argument("statement")
@click.option(
    "--timeout",
    type=Seconds(),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long it may take, to its last row.",
)
@click.option(
    "--memory",
    type=Bytes(),
    default="2GB",
    show_default=True,
    metavar="SIZE",
    help="How much memory it may take.",
)
@click.pass_context
def command(
    ctx: click.Context,
    statement: str,
    timeout: float,
    memory: int,
    format_: str | None,
    output: str | None,
) -> None:
    """Run a SELECT of your own on the bank.

    STATEMENT is one statement that reads, in quotes, or - for standard input. It cannot write,
    nor reach any file or network, and it is ended when its time or memory is over. A table shows
    the first 10,000 rows; the formats for programs have all of them.

    \b
    Example:
      attnbank sql "select upos, count(*) as n from word group by upos order by n desc"
    """
    from attnbank.cli.output import (
        MOST_ROWS,
        check_output,
        check_reader,
        is_for_people,
        write_frames,
    )
    from attnbank.queries.sandbox.isolated import Isolated

    chosen = check_output(ctx, format_, output)
    text = sys.stdin.read() if statement == "-" else statement
    most = MOST_ROWS if is_for_people(chosen) else None
    with Isolated(bank_path(ctx), text, None, timeout, memory, most) as running:
        running.on_count = lambda: check_reader(output)
        write_frames(ctx, running, format_, output, count=lambda: running.count)


command.name = "sql"
