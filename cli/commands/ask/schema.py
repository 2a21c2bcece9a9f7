"""`attnbank schema [TABLE]`: the tables and columns, with their meaning."""

from __future__ import annotations

import click

from attnbank.cli.apart import read_apart
from attnbank.cli.completion import names
from attnbank.cli.options import BankCommand, open_named_bank, output_options


@output_options
@click.command(cls=BankCommand)
@click.argument("table", required=False, shell_complete=names("table"))
@click.pass_context
def command(ctx: click.Context, table: str | None, format_: str | None, output: str | None) -> None:
    """Show the tables, views and analyses of the bank, or the columns of one.

    If a table and an analysis have the same name, it means the table; for the analysis type
    'head_distance()', in quotes.

    \b
    Example:
      attnbank schema attention
    """
    from attnbank.cli.output import write_frame

    def answer() -> None:
        with open_named_bank(ctx) as bank:
            frame = bank.schema(table)
        write_frame(ctx, frame, format_, output, wraps=True)

    read_apart(ctx, answer)


command.name = "schema"
