"""`attnbank saved`: list the saved relations, or delete one."""

from __future__ import annotations

import click

from attnbank.cli.apart import read_apart
from attnbank.cli.options import BankCommand, bank_path, open_named_bank, output_options
from attnbank.cli.printing import say


@output_options
@click.command(cls=BankCommand)
@click.option("--delete", "name", metavar="NAME", help="Take this relation out of the bank.")
@click.pass_context
def command(ctx: click.Context, name: str | None, format_: str | None, output: str | None) -> None:
    """List the saved relations, or delete one.

    later_sentences counts the sentences that came after a relation was saved, in which it has no
    pairs: save it again.

    \b
    Example:
      attnbank saved
    """
    if name is not None:
        from attnbank.ingest.store.saved import forget

        forget(bank_path(ctx), name)
        say(f"{name} is deleted.", err=True)
        return
    from attnbank.cli.output import write_frame

    def answer() -> None:
        with open_named_bank(ctx) as bank:
            frame = bank.saved()
        hint = "nothing is saved yet (attnbank save --help)"
        write_frame(ctx, frame, format_, output, wraps=True, hint=hint)

    read_apart(ctx, answer)


command.name = "saved"
