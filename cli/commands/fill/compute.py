"""`attnbank compute STEP`: fill a table that an analysis reads."""

from __future__ import annotations

from typing import Any

import click

from attnbank.cli.completion import names
from attnbank.cli.humanize import number
from attnbank.cli.options import BankCommand, bank_path
from attnbank.cli.printing import say
from attnbank.cli.progress import ProgressDisplay
from attnbank.ingest.derived.steps import STEPS


def _options(command: Any) -> Any:
    """The options of every step, once each."""
    described = {option.name: option for step in STEPS.values() for option in step.options}
    for option in reversed(described.values()):
        command = click.option(
            f"--{option.name}",
            type=option.type,
            metavar="N",
            help=f"{option.help[0].upper()}{option.help[1:]}. Default: {option.default}.",
        )(command)
    return command


@click.command(cls=BankCommand)
@click.argument("step", type=click.Choice(tuple(STEPS)), metavar="STEP")
@click.option(
    "--run",
    metavar="RUN",
    shell_complete=names("run"),
    help="Name or id of the run. Otherwise the newest that fits.",
)
@_options
@click.option("--replace", is_flag=True, help="Compute it anew where the bank has it already.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    step: str,
    run: str | None,
    replace: bool,
    quiet: bool,
    **values: float | None,
) -> None:
    """Compute what SQL alone cannot, and keep it in the bank.

    STEP is head_distance (how far apart every two heads attend) or head_embedding (the heads in a
    plane that keeps their distances). The analyses of the same names read what was computed. What
    the bank has already, of the same run and options, is not computed again.

    \b
    Example:
      attnbank compute head_distance
    """
    from attnbank.ingest.derived.steps import compute

    given = {name: value for name, value in values.items() if value is not None}
    with ProgressDisplay(quiet=quiet) as display:
        found = compute(bank_path(ctx), step, run, display, replace=replace, **given)
    if not quiet:
        already = "" if found.is_new else " already; nothing was computed (--replace does it anew)"
        for table, count in found.rows.items():
            say(f"Table {table} has {number(count)} rows of the run {found.run}{already}", err=True)
        say(f"Next: attnbank query {step}", err=True)


command.name = "compute"
