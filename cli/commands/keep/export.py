"""`attnbank export DIR`: a bank as Parquet."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from attnbank.cli.completion import names
from attnbank.cli.humanize import number, size
from attnbank.cli.options import BankCommand, bank_path, open_named_bank
from attnbank.cli.printing import say
from attnbank.cli.provenance import provenance_option, tell_runs, text


@click.command(cls=BankCommand)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--run",
    metavar="NAME",
    shell_complete=names("run"),
    help="Export only this run, by name or id.",
)
@click.option(
    "--force", is_flag=True, help="Replace an earlier export in DIR; other files there stay."
)
@provenance_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def command(ctx: click.Context, folder: Path, run: str | None, force: bool, quiet: bool) -> None:
    """Write the bank as Parquet files, of which `import` makes a bank again.

    The big tables are divided by run (attention/run=1/...), the others are a file each. With them
    go a manifest, and the SQL that makes a bank of them in the DuckDB shell.

    \b
    Example:
      attnbank export parquet/
    """
    from attnbank.queries.export.exporting import check_export, export

    check_export(folder, bank_path(ctx), force=force)
    with open_named_bank(ctx) as bank:
        tell_runs(ctx, bank, run)
        written = export(bank, folder, run=run, force=force, origin=text(ctx))
    if not quiet:
        total = size(sum(each.stat().st_size for each in written))
        say(
            f"Wrote {number(len(written))} files, {total}, to {folder}.",
            f"A bank again: attnbank -b new.duckdb import {quote(str(folder))}",
            err=True,
        )


command.name = "export"
