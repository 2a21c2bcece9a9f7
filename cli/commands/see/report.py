"""`attnbank report -o FILE.html`: every table and figure of a bank, as one page."""

from __future__ import annotations

import click

from attnbank.cli.apart import read_apart
from attnbank.cli.completion import names
from attnbank.cli.options import BankCommand, bank_path, open_named_bank
from attnbank.sql.errors import CallError


@click.command(cls=BankCommand)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="The file, which is needed; it ends in .html.",
)
@click.option(
    "--run",
    shell_complete=names("run"),
    help="The run of words over sentences that the sections on syntax read, by name or id; other"
    " kinds of run are chosen among those of its model.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def command(ctx: click.Context, output: str | None, run: str | None, quiet: bool) -> None:
    """Write a report: every table and figure of the papers that the bank can answer.

    One HTML file that asks for nothing outside itself, has no script, and prints.

    \b
    Example:
      attnbank report -o report.html
    """
    if output is None or output == "-":
        raise CallError("A report goes to a file.", "Type: attnbank report -o report.html")
    path = output
    from attnbank.queries.report.page import need_packages
    from attnbank.queries.report.reporting import check_place

    check_place(path, bank_path(ctx))
    need_packages()

    def answer() -> None:
        from attnbank.cli.progress import ProgressDisplay
        from attnbank.ingest.progress import Progress

        with open_named_bank(ctx) as bank, ProgressDisplay(quiet=quiet) as display:
            bank.report(
                path,
                run=run,
                on_section=lambda done, total: display(Progress("answering", done, total)),
            )

    read_apart(ctx, answer)


command.name = "report"
