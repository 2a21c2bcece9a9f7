"""`attnbank delete RUN...`: delete runs, corpora and models from a bank."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING

import click

from attnbank.cli.completion import names
from attnbank.cli.humanize import number, size
from attnbank.cli.options import BankCommand, bank_path
from attnbank.cli.printing import say

if TYPE_CHECKING:
    from attnbank.ingest.store.deleting import Deletion


@click.command(cls=BankCommand)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=names("run"))
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    metavar="NAME",
    help="Delete this corpus too, by name or id; no other run may use it. May be given again.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="Delete this model too, by name or id; no other run may use it. May be given again.",
)
@click.option("--dry-run", is_flag=True, help="Print what would go, and stop there.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask, as on a terminal it does.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors; do not ask.")
@click.pass_context
def command(
    ctx: click.Context,
    runs: tuple[str, ...],
    corpora: tuple[str, ...],
    models: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    quiet: bool,
) -> None:
    """Delete runs, by name or id, and give their room back.

    What was computed from a run goes with it, and so do the probes that learnt from it or were
    scored on it. Its corpus and its model stay, unless they are named too.

    \b
    Example:
      attnbank delete wsj-dev/bert-base-uncased --corpus wsj-dev
    """
    from attnbank.ingest.store.deleting import delete

    if not (runs or corpora or models):
        raise click.UsageError("Name a run, or a --corpus or --model.", ctx)
    path = bank_path(ctx)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not (yes or quiet)
    if dry_run or asks:
        found = delete(path, runs, corpora, models, dry_run=True)
        _print(found, "Would delete" if dry_run else "To be deleted")
        if dry_run:
            return
        click.confirm("Delete all of this?", abort=True, err=True)
    done = delete(path, runs, corpora, models)
    if quiet:
        return
    if not asks:
        _print(done, "Deleted")
    say(f"{path} has {size(path.stat().st_size)} now, {size(max(done.freed, 0))} less", err=True)
    for kind, name in done.unused:
        say(
            f"No run uses the {kind} {name} any more: attnbank delete --{kind} {quote(name)}",
            err=True,
        )


def _print(found: Deletion, what: str) -> None:
    lines = [
        *(f"the run {name}" for name in found.runs),
        *(f"the corpus {name}" for name in found.corpora),
        *(f"the model {name}" for name in found.models),
        *(f"the probe {each}" for each in found.probes),
    ]
    for line in lines:
        say(f"{what}: {line}", err=True)
    counts = ", ".join(f"{table} {number(rows)}" for table, rows in found.rows.items())
    say(f"Rows: {counts}", err=True)


command.name = "delete"
