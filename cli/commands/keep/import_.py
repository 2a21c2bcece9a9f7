"""`attnbank import DIR`: a bank of an export."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from attnbank.cli.humanize import number, size
from attnbank.cli.options import BankCommand, bank_path
from attnbank.cli.printing import say


@click.command(cls=BankCommand)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def command(ctx: click.Context, folder: Path, quiet: bool) -> None:
    """Make a new bank of a folder that `export` wrote.

    Every file is checked against the manifest of the export: what is missing, cut off or changed
    is said, and then no bank is made. Of the folder no SQL is run.

    \b
    Example:
      attnbank import parquet/ -b copy.duckdb
    """
    from attnbank.ingest import import_export

    bank = bank_path(ctx)
    done = import_export(folder, bank)
    if not quiet:
        rows = sum(done.rows.values())
        named = "" if bank == Path("attnbank.duckdb") else f" -b {quote(str(bank))}"
        say(
            f"{bank} has {number(rows)} rows in {number(len(done.rows))} tables,"
            f" {size(bank.stat().st_size)}.",
            f"Next: attnbank{named} info",
            err=True,
        )


command.name = "import"
