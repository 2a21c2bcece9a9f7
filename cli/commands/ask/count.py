"""`attnbank count REQUEST --by KEYS`: count hits by features, labels, distances or patterns."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace

import click

from attnbank.cli.completion import names
from attnbank.cli.options import BankCommand, Seconds, output_options
from attnbank.cli.printing import say
from attnbank.cli.provenance import is_asked, tell
from attnbank.cli.spark import Source, engine_option


@output_options
@engine_option
@click.command(cls=BankCommand)
@click.argument("request")
@click.option(
    "--by",
    default="",
    metavar="KEYS",
    help="What to count by: V.lemma,O.upos,e.label,delta(V,O),document.genre,{ O =[3-1]=> V }.",
)
@click.option(
    "--corpus", shell_complete=names("corpus"), help="Read only this corpus, by its name."
)
@click.option(
    "--run",
    shell_complete=names("run"),
    help="The run whose attention is read, by name or id; by default as for an analysis.",
)
@click.option(
    "--within",
    type=click.Choice(["sentence", "document"]),
    default="sentence",
    show_default=True,
    help="Whether nodes that only attention or coreference ties may be in different sentences.",
)
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the N most frequent.")
@click.option("--show", is_flag=True, help="For each row, the find that lists its hits.")
@click.option(
    "--timeout",
    type=Seconds(),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long it may take.",
)
@click.option("--show-sql", is_flag=True, help="Print the SELECT instead of running it.")
@click.option("--dialect", default="duckdb", show_default=True, help="The dialect of --show-sql.")
@click.pass_context
def command(
    ctx: click.Context,
    request: str,
    by: str,
    corpus: str | None,
    run: str | None,
    within: str,
    limit: int | None,
    show: bool,
    timeout: float,
    show_sql: bool,
    dialect: str,
    engine: str,
    data: tuple[str, ...],
    master: str | None,
    format_: str | None,
    output: str | None,
) -> None:
    """Count what a request describes.

    REQUEST is that of find. With two keys people see a cross table where it has room.

    \b
    Example:
      attnbank count 'pattern { V -[obj]-> O }' --by O.upos
    """
    from attnbank.cli.output import check_output, is_for_people, write_frame
    from attnbank.queries.formats.crossing import can_be_crossed, crossed
    from attnbank.queries.patterns import (
        Choice,
        RunFacts,
        asks_about_attention,
        listing,
        statement,
    )

    source = Source(ctx, engine, data, master)
    text = sys.stdin.read() if request == "-" else request
    people = is_for_people(check_output(ctx, format_, output))
    choice = Choice(corpus, limit, is_wide=within == "document")
    if show_sql:
        if asks_about_attention(text, by):
            with source.open() as bank:
                of = bank.run_of_request(text, run, within, by)
                choice = replace(choice, run=None if of is None else RunFacts.of(of))
        made = statement(text, columns=by, choice=choice, dialect=dialect, counts=True)
        say(*made.split("\n"))
        return

    def answer() -> None:
        with source.open(timeout) as bank:
            of = bank.run_of_request(text, run, within, by)
            asked = choice if of is None else replace(choice, run=RunFacts.of(of))
            if people and not show:  # a limit would leave cells of a cross table at 0
                asked = replace(asked, limit=None)
            found = bank.hits(text, asked, by, "", timeout, counts=True)
            if is_asked(ctx):
                made = statement(text, columns=by, choice=asked, counts=True)
                tell(ctx, bank, None if of is None else of.name, made, request=text)
        keys = [name for name in found.columns if name not in ("n", "share", "run")]
        title = None if of is None or not people else f"Run: {of.name}"
        if show:
            import polars as pl

            rows = found.select(keys).rows() or [()] * found.height
            given = {
                "--corpus": corpus,
                "--run": run,
                "--within": within if choice.is_wide else None,
            }
            options = [part for name, value in given.items() if value for part in (name, value)]
            finds = [
                shlex.join(["attnbank", "find", listing(text, by, row), *options]) for row in rows
            ]
            found = found.with_columns(pl.Series("find", finds, pl.String))
        elif people and can_be_crossed(found, keys):
            found = crossed(found, *keys)
        found = found if limit is None else found.head(limit)
        write_frame(ctx, found, format_, output, title=title, wraps=show)

    source.read(answer)


command.name = "count"
