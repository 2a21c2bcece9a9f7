"""`attnbank show SENTENCE`: what heads look at in one sentence, as text or as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.apart import read_apart
from attnbank.cli.completion import names
from attnbank.cli.options import BankCommand, Seconds, open_named_bank
from attnbank.cli.output import ENDINGS, FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from attnbank.queries.pictures.sentence import Panel
    from attnbank.queries.sentences.showing import Shown

PICTURES = ("svg", "png", "pdf", "html")
_BAR = 20
"""Columns of a terminal that the bar of a weight of 1 takes."""
_NARROW = 80
"""A terminal with fewer columns has no room for bars."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
_DOTS = 2.0
"""Dots of a png per pixel of the picture: enough for print."""


class Words(click.ParamType[tuple[int, int]]):
    """A range of words: 1-20."""

    name = "words"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """The index of the first word and of the last; raises click.BadParameter through `fail`."""
        first, _, last = str(value).partition("-")
        if not (first.isascii() and first.isdecimal() and last.isascii() and last.isdecimal()):
            self.fail(f"{value!r} is no FROM-TO, as 1-20.", param, ctx)
        return int(first[:9]), int(last[:9])


@click.command(cls=BankCommand)
@click.argument("sentence")
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="LAYER-HEAD",
    help="The head, as 3-1; several side by side: 3-1,5-2.",
)
@click.option("--layer", type=int, metavar="N", help="All heads of a layer.")
@click.option(
    "--relation",
    shell_complete=names("relation"),
    help="Show the gold arcs of this relation (obj, all, or a saved one).",
)
@click.option(
    "--direction",
    type=click.Choice(["dependent_to_head", "head_to_dependent"]),
    default="dependent_to_head",
    show_default=True,
    help="Whether the dependent should look at its head, or the head at its dependent.",
)
@click.option("--coreference", is_flag=True, help="Show the mentions of each entity.")
@click.option("--tree", is_flag=True, help="Add the tree to a picture (by spaCy's displaCy).")
@click.option(
    "--special/--no-special",
    default=True,
    show_default=True,
    help="Show special tokens ([CLS], [SEP]), or leave them out.",
)
@click.option("--words", type=Words(), metavar="FROM-TO", help="Only these words, as 1-20.")
@click.option(
    "--before",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Draw N sentences of the same input above it (runs over documents).",
)
@click.option(
    "--hits",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="The first N sentences that a request finds.",
)
@click.option(
    "--least",
    type=float,
    default=0.01,
    show_default=True,
    metavar="WEIGHT",
    help="Weights under it are not drawn.",
)
@click.option(
    "--theme",
    type=click.Choice(["light", "dark"]),
    default="light",
    show_default=True,
    help="The background of a picture.",
)
@click.option(
    "--corpus", shell_complete=names("corpus"), help="The corpus that the sentence is of."
)
@click.option(
    "--run",
    shell_complete=names("run"),
    help="The run, by name or id; by default as for an analysis, of those over the corpus.",
)
@click.option(
    "--timeout",
    type=Seconds(),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a request may take.",
)
@click.option(
    "-f",
    "--format",
    "format_",
    type=click.Choice([*FORMATS, *PICTURES]),
    help="Format of the result: rows, or a picture (svg, png, pdf, html).",
)
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE",
    help="Write to a file; its ending chooses the format (.svg, .png, .pdf, .html,"
    f" {', '.join(ENDINGS)}).",
)  # fmt: skip
@click.pass_context
def command(
    ctx: click.Context,
    sentence: str,
    heads: tuple[str, ...],
    layer: int | None,
    relation: str | None,
    direction: str,
    coreference: bool,
    tree: bool,
    special: bool,
    words: tuple[int, int] | None,
    before: int,
    hits: int,
    least: float,
    theme: str,
    corpus: str | None,
    run: str | None,
    timeout: float,
    format_: str | None,
    output: str | None,
) -> None:
    """Show what heads look at in one sentence.

    SENTENCE is a sent_id, a number (sentence.id), or a request in quotes, of which the first hit is
    shown. In the terminal: each word, what it looks at most (special tokens and the word itself
    left out), the weight, and whether that is its gold head. As a picture: two columns of words,
    joined by lines as strong as the weights.

    \b
    Example:
      attnbank show 'pattern { V -[obj]-> O }' --head 3-1 --relation obj -o obj.svg
    """
    from attnbank.cli.output import check_output, is_for_people, write_frame

    chosen = _format(format_, output)
    if chosen not in PICTURES:
        check_output(ctx, format_, output)
        if tree:
            raise click.UsageError("--tree is for pictures: give -o FILE.svg.", ctx)
    else:
        _check_picture(ctx, chosen, output)

    def answer() -> None:
        with open_named_bank(ctx) as bank:
            shown = bank.show(
                sentence, heads, layer=layer, run=run, corpus=corpus, relation=relation,
                direction=direction, coreference=coreference, tree=tree, special=special,
                words=words, before=before, hits=hits, least=least, timeout=timeout,
            )  # fmt: skip
        if chosen in PICTURES:
            _write_picture(ctx, shown, chosen, theme, output)
        elif is_for_people(chosen):
            _write_tables(ctx, shown, chosen, output)
        else:
            write_frame(ctx, shown.rows, format_, output)

    read_apart(ctx, answer)


def _format(format_: str | None, output: str | None) -> str:
    """The format that is asked for, or that the ending of a file chooses."""
    from attnbank.cli.output import choose_format

    ending = Path(output).suffix.lower().removeprefix(".") if output not in (None, "-") else ""
    if format_ is None and ending in PICTURES:
        return ending
    return choose_format(format_, output)


def _check_picture(ctx: click.Context, format_: str, output: str | None) -> None:
    """Raise CallError for a picture that cannot be drawn or written, before any work is done."""
    from attnbank.cli.options import bank_path
    from attnbank.sql.extras import need
    from attnbank.sql.outputs import files

    if format_ in ("png", "pdf"):
        need(f"A {format_}", "vl_convert")
    if output is not None and output != "-":
        files.check_output(output, bank_path(ctx))


def _write_picture(
    ctx: click.Context, shown: Shown, format_: str, theme: str, output: str | None
) -> None:
    """Draw what is shown, in one of PICTURES, and write it to standard output or a file."""
    import sys

    from attnbank.cli.output import destination
    from attnbank.sql.errors import CallError

    made = (shown.html(theme) if format_ == "html" else shown.draw(theme)).encode()
    if format_ in ("png", "pdf"):
        import vl_convert

        if output in (None, "-") and sys.stdout.isatty():
            raise CallError(f"A terminal cannot show {format_.upper()}.", "Give -o FILE.")
        drawn = made.decode()
        made = (
            vl_convert.svg_to_png(drawn, scale=_DOTS)
            if format_ == "png"
            else vl_convert.svg_to_pdf(drawn)
        )
    with destination(ctx, output, binary=False) as file:
        file.write(made)


def _write_tables(ctx: click.Context, shown: Shown, format_: str, output: str | None) -> None:
    """Write one table per sentence and head, in a format for people."""
    from attnbank.cli.output import destination, terminal_width, write

    width = terminal_width() if output is None else None
    with destination(ctx, output, binary=False) as file:
        for line in _commented(_heading(shown), format_):
            file.write(f"{line}\n".encode(errors="replace"))
        for panel in shown.panels:
            told = ["", f"Head {panel.name} on {panel.sentence}"]
            for line in _commented(told, format_):
                file.write(f"{line}\n".encode(errors="replace"))
            made = _for_people(shown, panel)
            if width is not None and width < _NARROW:
                made = made.drop(" ")
            write(made, format_, file, width)


def _heading(shown: Shown) -> Iterator[str]:
    """The lines above all tables: which run it is, and what is shown of it."""
    among = shown.run.among
    more = f", of {among} that fit (another: --run, or attnbank use)" if among > 1 else ""
    yield f"Run: {shown.run.name}{more}"
    if shown.facts.direction == "head_to_dependent":
        yield "What looks at each word most, special tokens and the word itself left out"
    else:
        yield "What each word looks at most, special tokens and the word itself left out"
    yield from shown.facts.notes


def _commented(lines: Iterable[str], format_: str) -> Iterator[str]:
    """Lines above a table in a format: LaTeX comments, or Markdown paragraphs without markup."""
    from attnbank.sql.outputs.lines import shown

    for line in map(shown, lines):
        if format_ == "markdown":
            if line:
                yield "".join(f"\\{each}" if each in "\\|<&*`_[" else each for each in line)
                yield ""
        else:
            yield f"% {line}" if format_ == "latex" and line else line


def _for_people(shown: Shown, panel: Panel) -> pl.DataFrame:
    """The rows of a panel, with a bar per weight and a mark if the gold head is found."""
    import polars as pl

    rows = shown.rows.filter(
        (pl.col("sent_id") == panel.sentence)
        & (pl.col("layer") == panel.layer)
        & (pl.col("head") == panel.head)
    )
    found = next(name for name in ("looks_at", "looked_at_by") if name in rows.columns)
    places = set(panel.words["position"])
    asked = shown.facts.relation
    is_asked = [
        asked in (None, "all", relation, str(relation).split(":")[0])
        for relation in rows["relation"]
    ]
    texts = [
        text if text is None or place in places else f"{text} (elsewhere)"
        for text, place in zip(rows[found], rows[f"{found}_position"], strict=True)
    ]
    made = rows.select(
        pl.col("index").alias("n"),
        pl.col("dependent").alias("word"),
        pl.Series(found, texts, pl.String),
        "weight",
        pl.Series(" ", [_bar(weight) for weight in rows["weight"]], pl.String),
    )
    if shown.facts.coreference:
        made = made.with_columns(pl.Series("mention", _letters(panel, rows["position"]), pl.String))
    if rows["gold_head"].null_count() == rows.height:
        return made
    marks = ["✓" if found and each else "" for found, each in
             zip(rows["correct"], is_asked, strict=True)]  # fmt: skip
    return made.with_columns(
        pl.Series("found", marks),
        pl.when(pl.Series(is_asked)).then(rows["gold_head"]).alias("gold_head"),
        pl.when(pl.Series(is_asked)).then(rows["relation"]).alias("relation"),
    )


def _bar(weight: float | None) -> str:
    """A weight as a bar of block characters, exact to an eighth of a column."""
    eighths = round((weight or 0.0) * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _letters(panel: Panel, positions: Iterable[int]) -> list[str]:
    """The letters of the entities that are mentioned at each position, the outer mention first."""
    from attnbank.queries.pictures.sentence.palette import letter

    spans = panel.mentions.rows()
    return [
        " ".join(letter(entity) for entity, first, last, _ in spans if first <= place <= last)
        for place in positions
    ]


command.name = "show"
