"""`attnbank sql STATEMENT`: anyone's SELECT."""

from __future__ import annotations

import sys

import click

from attnbank.cli.options import BankCommand, open_named_bank, output_options


@output_options
@click.command(cls=BankCommand)
@click.argument("statement")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long it may take.",
)
@click.pass_context
def command(
    ctx: click.Context, statement: str, timeout: float, format_: str | None, output: str | None
) -> None:
    """Run a SELECT of your own on the bank.

    STATEMENT is one statement that reads, in quotes, or - for standard input. It cannot write,
    nor reach any file or network.

    \b
    Example:
      attnbank sql "select upos, count(*) as n from word group by upos order by n desc"
    """
    from attnbank.cli.output import choose_format, write_frame

    choose_format(format_, output)
    text = sys.stdin.read() if statement == "-" else statement
    with open_named_bank(ctx) as bank:
        frame = bank.sql(text, seconds=timeout)
    write_frame(ctx, frame, format_, output)


command.name = "sql"
