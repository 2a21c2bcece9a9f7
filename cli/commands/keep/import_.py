"""`attnbank import DIR...`: a bank of an export, or of several."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from attnbank.cli.humanize import number, size
from attnbank.cli.options import BankCommand, bank_path
from attnbank.cli.printing import say


@click.command(cls=BankCommand)
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--partial",
    is_flag=True,
    help="Merge shards although some are missing; the corpus then says which ones it has.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def command(ctx: click.Context, folders: tuple[str, ...], partial: bool, quiet: bool) -> None:
    """Make a new bank of a folder that `export` wrote, or of several.

    Every file is checked against the manifest of the export: what is missing, cut off or changed
    is said, and then no bank is made. Of the folder no SQL is run. Several are put together as
    `merge` does it with banks.

    \b
    Example:
      attnbank import parquet/ -b copy.duckdb
    """
    from attnbank.ingest import import_exports

    bank = bank_path(ctx)
    done = import_exports(folders, bank, partial=partial)
    if not quiet:
        rows = sum(done.rows.values())
        named = "" if bank == Path("attnbank.duckdb") else f" -b {quote(str(bank))}"
        say(
            *done.notes,
            f"{bank} has {number(rows)} rows in {number(len(done.rows))} tables,"
            f" {size(bank.stat().st_size)}.",
            f"Next: attnbank{named} info",
            err=True,
        )


command.name = "import"
