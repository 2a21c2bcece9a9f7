"""`attnbank queries`: what can be asked."""

from __future__ import annotations

import click

from attnbank.cli.commands.query import section_title
from attnbank.cli.options import BankCommand, output_options
from attnbank.sql import analyses


@output_options
@click.command(cls=BankCommand)
@click.pass_context
def command(ctx: click.Context, format_: str | None, output: str | None) -> None:
    """List the analyses.

    \b
    Example:
      attnbank queries
    """
    if format_ is None and output is None:
        _print()
        return
    import polars as pl

    from attnbank.cli.output import write_frame

    rows = [
        (each.section, each.name, each.title, each.paper, each.grain)
        for each in analyses().values()
    ]
    names = ["section", "name", "title", "paper", "grain"]
    write_frame(ctx, pl.DataFrame(rows, schema=names, orient="row"), format_, output)


def _print() -> None:
    known = analyses().values()
    width = max(len(each.name) for each in known)
    for section in dict.fromkeys(each.section for each in known):
        click.echo(section_title(section))
        for each in known:
            if each.section == section:
                click.echo(f"  {each.name:<{width}}  {each.title}")
                click.echo(f"  {'':<{width}}  {each.paper}")
        click.echo()
    click.echo("Each takes options: attnbank query NAME --help")


command.name = "queries"
