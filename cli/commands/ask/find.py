"""`attnbank find REQUEST`: a concordance of what a request describes."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from attnbank.cli.completion import names
from attnbank.cli.options import BankCommand, Seconds, output_options
from attnbank.cli.printing import say
from attnbank.cli.provenance import is_asked, tell
from attnbank.cli.spark import Source, engine_option

if TYPE_CHECKING:
    import polars as pl

_GAP = 2
"""Columns of a terminal between two columns of the table."""
_USUAL = 10
"""Words left and right of a hit if there is no terminal whose width could decide."""


@output_options
@engine_option
@click.command(cls=BankCommand)
@click.argument("request")
@click.option(
    "--corpus", shell_complete=names("corpus"), help="Read only this corpus, by its name."
)
@click.option(
    "--columns",
    default="",
    metavar="KEYS",
    help="Further columns: V.lemma,O.upos,e.label,delta(V,O),document.genre.",
)
@click.option(
    "--head",
    "heads",
    default="",
    metavar="HEADS",
    help="For these heads (3-1,5-2): the weight from --from to --to, and what is looked at most.",
)
@click.option(
    "--from",
    "source",
    metavar="NODE",
    help="The node that --head looks from; by default the dependent of the first edge.",
)
@click.option("--to", "target", metavar="NODE", help="The node to which the weight is shown.")
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
@click.option("--sort", default="", metavar="KEYS", help="Sort by such keys first.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first N hits.")
@click.option("--sample", type=click.IntRange(min=0), metavar="N", help="N hits at random.")
@click.option("--seed", default=0, show_default=True, metavar="S", help="The seed of --sample.")
@click.option(
    "--context",
    type=click.IntRange(min=0),
    metavar="N",
    help="Words left and right of a hit, for people; otherwise what the terminal has room for.",
)
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
    corpus: str | None,
    columns: str,
    heads: str,
    source: str | None,
    target: str | None,
    run: str | None,
    within: str,
    sort: str,
    limit: int | None,
    sample: int | None,
    seed: int,
    context: int | None,
    timeout: float,
    show_sql: bool,
    dialect: str,
    engine: str,
    data: tuple[str, ...],
    master: str | None,
    format_: str | None,
    output: str | None,
) -> None:
    """Find words by a request in the language of Grew.

    REQUEST is in quotes, or - for standard input. People see one line per hit, the matched words in
    brackets; programs get one row per hit, with the sentence and the index of each node (0 is the
    node before the first word) and the label of each named edge.

    \b
    Example:
      attnbank find 'pattern { V -[obj]-> O; O [upos=PRON] }'
    """
    from attnbank.cli.output import (
        MOST_ROWS,
        check_output,
        is_for_people,
        terminal_width,
        write_frames,
    )
    from attnbank.queries.patterns import (
        Choice,
        RunFacts,
        asks_about_attention,
        head_keys,
        statement,
    )
    from attnbank.sql.errors import CallError

    asked_of = Source(ctx, engine, data, master)
    text = sys.stdin.read() if request == "-" else request
    if heads:
        columns = ", ".join(filter(None, (columns, head_keys(text, heads, source, target))))
    elif source or target:
        raise CallError("--from and --to are for --head.", "Give --head 3-1, or leave them out.")
    chosen = check_output(ctx, format_, output)
    people = is_for_people(chosen)
    choice = Choice(corpus, limit, sample, seed, keys=people and not show_sql)
    choice = replace(choice, is_wide=within == "document")
    if show_sql:
        if asks_about_attention(text, f"{columns}, {sort}"):
            with asked_of.open() as bank:
                of = bank.run_of_request(text, run, within, f"{columns}, {sort}")
                choice = replace(choice, run=None if of is None else RunFacts.of(of))
        made = statement(text, columns=columns, sort=sort, choice=choice, dialect=dialect)
        say(*made.split("\n"))
        return

    def answer() -> None:
        with asked_of.open(timeout) as bank:
            of = bank.run_of_request(text, run, within, f"{columns}, {sort}")
            asked = choice if of is None else replace(choice, run=RunFacts.of(of))
            found = bank.hits(text, asked, columns, sort, timeout)
            if is_asked(ctx):
                made = statement(text, columns=columns, sort=sort, choice=asked)
                tell(ctx, bank, None if of is None else of.name, made, request=text)
            shown = found
            if people:
                width = terminal_width() if output is None and chosen == "table" else None
                beside = _USUAL if context is None and width is None else context
                shown = bank.concordance(found.drop("run", strict=False).head(MOST_ROWS), beside)
                shown = shown if width is None else _cut(shown, width)
        title = None if of is None or not people else f"Run: {of.name}"
        write_frames(ctx, iter([shown]), format_, output, count=lambda: found.height, title=title)

    asked_of.read(answer)


def _cut(frame: pl.DataFrame, width: int) -> pl.DataFrame:
    """The hits with the texts left and right cut to the width of the terminal, the hits aligned."""
    import polars as pl

    from attnbank.queries.directions import is_right_to_left
    from attnbank.queries.formats.table import cut, cut_start, display_width

    def widest(name: str) -> int:
        return max(map(display_width, [name, *map(str, frame[name])]), default=0)

    ways = [is_right_to_left(hit) for hit in frame["hit"]]
    fixed = [name for name in frame.columns if name not in ("left", "hit", "right")]
    room = width - sum(widest(name) + _GAP for name in fixed) - 2 * _GAP
    hit = min(widest("hit"), max(20, room // 2))
    left = max(4, (room - hit) // 2)
    right = max(5, room - hit - left)
    # Left of a hit that runs from right to left stands what comes after it, which is cut at its
    # end; in either case the cut is on the far side.
    lefts = [
        (cut if turned else cut_start)(text, left)
        for text, turned in zip(frame["left"], ways, strict=True)
    ]
    rights = [
        (cut_start if turned else cut)(text, right)
        for text, turned in zip(frame["right"], ways, strict=True)
    ]
    return frame.with_columns(
        pl.Series("left", [" " * (left - display_width(each)) + each for each in lefts], pl.String),
        pl.Series("right", rights, pl.String),
    )


command.name = "find"
