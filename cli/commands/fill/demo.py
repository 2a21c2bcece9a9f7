"""`attnbank demo`: fill a small bank and print a table, as the first thing to run."""

from __future__ import annotations

from importlib.resources import as_file, files
from shlex import quote

import click

from attnbank.cli.commands.fill.ingest import fill
from attnbank.cli.commands.fill.reporting import print_report
from attnbank.cli.options import BankCommand, bank_path, output_options
from attnbank.cli.printing import say
from attnbank.ingest.options import IngestOptions

DEMO_BANK = "attnbank-demo.duckdb"


@output_options
@click.command(cls=BankCommand)
@click.option("-q", "--quiet", is_flag=True, help="Print the table and nothing else.")
@click.pass_context
def command(ctx: click.Context, quiet: bool, format_: str | None, output: str | None) -> None:
    """Fill a small bank and print the paper's table 1 of it.

    The corpus and the model come with the package: ten short English texts and a BERT of 6
    layers with 12 heads each. Without -b the bank is attnbank-demo.duckdb.

    \b
    Example:
      attnbank demo
    """
    from attnbank.cli.output import check_output, write_frame

    check_output(ctx, format_, output)
    bank = bank_path(ctx, DEMO_BANK)
    named = quote(str(bank))
    if not quiet:
        say(f"Filling {bank} from the sample corpus with the model minilm", err=True)
    with as_file(files("attnbank.ingest.corpora") / "sample") as sample:
        report = fill(
            IngestOptions(corpora=(str(sample),), bank=bank, model="minilm", name="sample"),
            quiet=quiet,
        )
    from attnbank.queries import open_bank

    if not quiet:
        print_report(report, bank)
        say(
            "",
            "The best head for each relation, as in table 1 of Clark et al. (2019): how often",
            "it finds the syntactic head, beside the best fixed offset, in per cent.",
            "",
            err=True,
        )
    with open_bank(bank) as opened:
        frame = opened.query("paper.table_1", run=report.run)
    write_frame(ctx, frame, format_, output, title=f"Run: {report.run}")
    if not quiet:
        say(
            "",
            "Next:",
            f"  attnbank -b {named} query best_head --relation obj",
            f"  attnbank -b {named} info",
            "  attnbank queries",
            "  attnbank ingest YOUR.conllu --model google-bert/bert-base-uncased",
            err=True,
        )


command.name = "demo"
