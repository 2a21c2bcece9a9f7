"""`attnbank use [RUN]`: choose the run that answers if none is named."""

from __future__ import annotations

import click

from attnbank.cli.apart import read_apart
from attnbank.cli.completion import names
from attnbank.cli.options import BankCommand, bank_path, open_named_bank, output_options
from attnbank.cli.printing import say
from attnbank.sql.errors import CallError


@output_options
@click.command(cls=BankCommand)
@click.argument("run", required=False, shell_complete=names("run"))
@click.option("--none", "forgets", is_flag=True, help="Let the newest run that fits answer again.")
@click.pass_context
def command(
    ctx: click.Context,
    run: str | None,
    forgets: bool,
    format_: str | None,
    output: str | None,
) -> None:
    """Choose the run that answers if none is named, or list the runs.

    RUN is the name or the number of a finished run of trained weights. The bank keeps one choice
    for each context and unit (sentence/word, pair/token). An analysis takes it if it fits, and
    otherwise the newest run that fits. Without RUN, list the runs, and whether each may answer if
    none is named (column unasked).

    \b
    Example:
      attnbank use gum-dev/minilm
    """
    if run is not None and forgets:
        raise CallError("RUN and --none were given.", "Give one of them.")
    if run is not None or forgets:
        from attnbank.ingest.store.preferences import prefer, prefer_none

        if run is None:
            prefer_none(bank_path(ctx))
            say("The newest run that fits answers where none is named.", err=True)
        else:
            name = prefer(bank_path(ctx), run)
            say(f"{name} answers where no run is named and it fits.", err=True)
        return
    from attnbank.cli.output import write_frame

    def answer() -> None:
        with open_named_bank(ctx) as bank:
            frame = bank.choices()
        write_frame(ctx, frame, format_, output, wraps=True)

    read_apart(ctx, answer)


command.name = "use"
