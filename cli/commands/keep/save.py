"""`attnbank save NAME REQUEST`: the pairs of a request as a relation of the bank."""

from __future__ import annotations

import sys

import click

from attnbank.cli.humanize import number
from attnbank.cli.options import BankCommand, Seconds, bank_path, open_named_bank
from attnbank.cli.printing import say


@click.command(cls=BankCommand)
@click.argument("name")
@click.argument("request")
@click.option(
    "--from", "dependent", required=True, metavar="NODE", help="The node that is the dependent."
)
@click.option("--to", "head", required=True, metavar="NODE", help="The node that is its head.")
@click.option("--meaning", metavar="TEXT", help="What the relation means, in words.")
@click.option("--run", help="The run whose attention the request reads, by name or id.")
@click.option(
    "--within",
    type=click.Choice(["sentence", "document"]),
    default="sentence",
    show_default=True,
    help="Whether the two words may be in different sentences: then a run over documents is read.",
)
@click.option(
    "--timeout",
    type=Seconds(),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long finding the pairs may take.",
)
@click.option("--replace", is_flag=True, help="Let the name mean this request from now on.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    request: str,
    dependent: str,
    head: str,
    meaning: str | None,
    run: str | None,
    within: str,
    timeout: float,
    replace: bool,
    quiet: bool,
) -> None:
    """Save the pairs that a request finds as a relation of the bank.

    Every analysis that takes --relation takes its NAME then, and any program that opens the bank
    has the view saved.NAME. The same command again looks at the text that came since.

    \b
    Example:
      attnbank save possessor 'pattern { N -[nmod:poss]-> P }' --from P --to N
    """
    from attnbank.ingest.store.saved import Relation, check_name, save

    check_name(name)
    text = sys.stdin.read() if request == "-" else request
    with open_named_bank(ctx) as bank:
        pairs, statement = bank.pairs(
            text, dependent=dependent, head=head, run=run, within=within, timeout=timeout
        )
    relation = Relation(name, text, dependent, head, meaning, statement)
    count = save(bank_path(ctx), relation, pairs.to_arrow(), replace=replace)
    if not quiet:
        say(
            f"{name} has {number(count)} pairs.",
            f"Next: attnbank query best_head --relation {name}",
            err=True,
        )


command.name = "save"
