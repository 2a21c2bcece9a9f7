"""`attnbank queries`: the list of the analyses."""

from __future__ import annotations

import warnings

import click

from attnbank.cli.commands.ask.query import by_section, queries_option
from attnbank.cli.options import BankCommand, output_options
from attnbank.cli.printing import say
from attnbank.sql.errors import AttnbankWarning
from attnbank.sql.registry import every, faults


@output_options
@queries_option
@click.command(cls=BankCommand)
@click.pass_context
def command(ctx: click.Context, format_: str | None, output: str | None) -> None:
    """List the analyses.

    \b
    Example:
      attnbank queries
    """
    for fault in faults().values():
        warnings.warn(f"{fault.fact} {fault.remedy}", AttnbankWarning, stacklevel=2)
    if format_ is None and output is None:
        _print()
        return
    import polars as pl

    from attnbank.cli.output import write_frame

    rows = [
        (each.section, each.name, each.title, each.paper, each.grain) for each in every().values()
    ]
    names = ["section", "name", "title", "paper", "grain"]
    write_frame(ctx, pl.DataFrame(rows, schema=names, orient="row"), format_, output)


def _print() -> None:
    width = max(map(len, every()))
    for title, those in by_section().items():
        say(title)
        for each in those:
            say(f"  {each.name:<{width}}  {each.title}")
            if each.paper:
                say(f"  {'':<{width}}  {each.paper}")
        say()
    say("Each takes options: attnbank query NAME --help")


command.name = "queries"
