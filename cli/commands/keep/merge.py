"""`attnbank merge OUT BANK...`: one bank of several."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from attnbank.cli.humanize import number, size
from attnbank.cli.options import BankCommand, refuse_bank
from attnbank.cli.printing import say


@click.command(cls=BankCommand)
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@click.argument("banks", metavar="BANK...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--partial",
    is_flag=True,
    help="Merge shards although some are missing; the corpus then says which ones it has.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def command(
    ctx: click.Context, out: Path, banks: tuple[str, ...], partial: bool, quiet: bool
) -> None:
    """Make a new bank of several, of shards of one run, say.

    The same corpus, model and run are recognised by their digests and options, and are there once;
    the shards of a run become that run. All ids are given anew, in the order of the text. The banks
    stay as they are. Folders that `export` wrote may stand among them.

    \b
    Example:
      attnbank merge whole.duckdb shard-*.duckdb
    """
    from attnbank.ingest import merge_banks

    refuse_bank(ctx, "The new bank is the first argument: attnbank merge OUT BANK...")
    out = out.expanduser()
    done = merge_banks(out, banks, partial=partial)
    runs = done.rows["run"]
    if not quiet:
        say(
            *done.notes,
            f"{out} has {number(runs)} run{'' if runs == 1 else 's'},"
            f" {number(done.rows['word'])} words,"
            f" {size(out.stat().st_size)}.",
            f"Next: attnbank -b {quote(str(out))} info",
            err=True,
        )


command.name = "merge"
