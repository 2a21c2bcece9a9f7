"""`attnbank score REQUEST`: which head looks from one word of a request to another."""

from __future__ import annotations

import sys

import click

from attnbank.cli.completion import names
from attnbank.cli.options import BankCommand, Seconds, output_options
from attnbank.cli.provenance import tell
from attnbank.cli.spark import Source, engine_option


@output_options
@engine_option
@click.command(cls=BankCommand)
@click.argument("request")
@click.option(
    "--from", "dependent", required=True, metavar="NODE", help="The node that is the dependent."
)
@click.option("--to", "head", required=True, metavar="NODE", help="The node that is its head.")
@click.option(
    "--by",
    default="",
    metavar="KEYS",
    help="How often the best head is right in each group: V.lemma, delta(V, O), document.genre.",
)
@click.option("--every", is_flag=True, help="Every head, in both directions, the best first.")
@click.option("--corpus", shell_complete=names("corpus"), help="Read only this corpus.")
@click.option(
    "--run",
    shell_complete=names("run"),
    help="The run whose heads are judged, by name or id; by default as for an analysis.",
)
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
@click.pass_context
def command(
    ctx: click.Context,
    request: str,
    dependent: str,
    head: str,
    by: str,
    every: bool,
    corpus: str | None,
    run: str | None,
    within: str,
    timeout: float,
    engine: str,
    data: tuple[str, ...],
    master: str | None,
    format_: str | None,
    output: str | None,
) -> None:
    """Judge every head on the pairs of words that a request finds.

    REQUEST is that of `attnbank find`. Each pair is judged like a dependency: the head must look
    from --from at --to more than at any other word, or the other way round. The answer is the best
    head beside the best fixed offset, the p value of McNemar's exact test of the two (corrected for
    all heads that were tried), the head that is best on every second document scored on the others,
    and the same for the control of random weights, if the bank has one.

    \b
    Example:
      attnbank score 'pattern { V -[obj]-> O }' --from O --to V
    """
    from attnbank.cli.output import check_output, write_frame
    from attnbank.sql.errors import CallError

    if by and every:
        raise CallError("--by and --every were given.", "Give one of them.")
    source = Source(ctx, engine, data, master)
    text = sys.stdin.read() if request == "-" else request
    check_output(ctx, format_, output)

    def answer() -> None:
        with source.open() as bank:
            frame = bank.score(
                text, dependent=dependent, head=head, by=by, every=every, corpus=corpus, run=run,
                within=within, timeout=timeout,
            )  # fmt: skip
            tell(ctx, bank, frame["run"][0] if frame.height else None, request=text)
        name = f"Run: {frame['run'][0]}" if (by or every) and frame.height else None
        write_frame(
            ctx, frame, format_, output, title=name, hint="the request finds no pair in the run"
        )

    source.read(answer)


command.name = "score"
