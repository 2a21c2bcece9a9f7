"""`attnbank plot`, `show`, `report` and `explore`: pictures and pages of what is in a bank."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli import output
from attnbank.cli.commands.query import AnalysisGroup, registry_name
from attnbank.cli.guarded import GuardedCommand, command
from attnbank.cli.options import (
    bank_path,
    command_as_typed,
    compose,
    field_options,
    file_options,
    fresh_option,
    memory_option,
    open_named_bank,
    option,
    output_option,
    quiet_option,
    requested_output,
    run_option,
    take_fields,
    theme_option,
)
from attnbank.cli.progress import ProgressDisplay
from attnbank.cli.safe_echo import notify, safe_echo
from attnbank.ingest.progress import Progress
from attnbank.queries.options import CardOptions, ShowOptions, card_options
from attnbank.sql import outputs
from attnbank.sql.errors import CallError, require_extra
from attnbank.sql.header import Analysis
from attnbank.sql.messages import to_type
from attnbank.sql.option_fields import option as option_field

if TYPE_CHECKING:
    import polars as pl

    from attnbank.queries.bank import Bank
    from attnbank.queries.pictures import Look, Picture
    from attnbank.queries.pictures.sentence import Panel
    from attnbank.queries.sentences.showing import Shown

# The formats of attnbank.queries.pictures, repeated here because importing it is slow.
ENDINGS = (".svg", ".png", ".pdf", ".html", ".json")


_LENGTH = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4})?) ?(in|cm|mm|pt)")
_POINTS_OF = {"in": 72.0, "cm": 72 / 2.54, "mm": 7.2 / 2.54, "pt": 1.0}


def _parse_points(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    match = _LENGTH.fullmatch(value.strip())
    points = float(match[1]) * _POINTS_OF[match[2]] if match else 0.0
    if not 72 <= points <= 1440:
        raise click.BadParameter(
            f"{value!r} is not a valid width: 3.25in, 8.3cm, 83mm or 234pt, from 1 to 20 inches."
        )
    return points


@dataclass(frozen=True, kw_only=True)
class PaperOptions:
    """How a picture looks in a paper; `column` is its width in points."""

    column: float | None = option_field(
        None,
        "Make the picture as wide as a column of a paper: 3.25in, 8.3cm, 234pt. A PNG then has 300"
        " dpi.",
        metavar="WIDTH",
        callback=_parse_points,
    )
    font_size: float | None = option_field(
        None,
        "Font size: in points with --column (default 8), else in pixels.",
        least=5.0,
        most=36.0,
        metavar="SIZE",
    )
    title: bool = option_field(
        True,
        "Put a title above the picture, with what it shows and the run.",
        flag="title/--no-title",
    )
    caption: bool = option_field(
        False, "Print a LaTeX caption: what the picture shows, the runs, n and this command."
    )

    def look(self, *, stretch: bool = False) -> Look | None:
        """The look of the picture; None for the default."""
        from attnbank.queries.pictures import Look

        look = Look(self.font_size, self.column, self.title, stretch)
        return None if look == Look() else look


@dataclass(frozen=True, kw_only=True)
class PlotOptions(PaperOptions):
    """How `attnbank plot` draws a picture."""

    fresh: bool
    theme: str
    scale: float | None = option_field(
        None,
        "Pixels of a PNG for each pixel, or point, of the picture. Default: 2.",
        least=0.5,
        most=8.0,
    )


@dataclass(frozen=True, kw_only=True)
class ChartOptions(PlotOptions):
    """How `attnbank plot` draws the picture of an analysis."""

    width: int | None = option_field(
        None, "Width of a panel, without its labels.", least=50, most=4000, metavar="PIXELS"
    )
    height: int | None = option_field(
        None, "Height of a panel, without its labels.", least=50, most=4000, metavar="PIXELS"
    )
    stretch: bool = option_field(
        False,
        "Spread the colours over the values of this picture, instead of the fixed scale that makes"
        " pictures comparable.",
    )


# Pixels of a PNG per point: 300 dpi.
_DOTS_OF_PAPER = 300 / 72


class Pictures(AnalysisGroup):
    """The commands of `attnbank plot`: the analyses that have a picture, and the head card."""

    def takes(self, analysis: Analysis) -> bool:
        """Whether an analysis has a picture."""
        return analysis.plot is not None

    def sections(self) -> dict[str, list[str]]:
        """The names of the pictures by section."""
        return super().sections() | {"One head": [head_card.name or ""]}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command of a picture. Raises CallError for an analysis that has none."""
        if registry_name(cmd_name) == head_card.name:
            return head_card
        command_of_analysis, plain = super().get_command(ctx, cmd_name), registry_name(cmd_name)
        names = self.list_commands(ctx)
        if command_of_analysis is None or plain in names:
            return command_of_analysis
        if ctx.resilient_parsing:
            return None
        raise CallError(f"{plain} has no picture.", f"These have one: {', '.join(names)}.")


def _describe_picture(analysis: Analysis) -> tuple[str, str]:
    panel = () if analysis.plot is None else analysis.plot.panel
    chosen = "--relation obj " if "relation" in panel else ""
    return (
        f"The options are those of attnbank query {analysis.name}.",
        f"{chosen}-o {analysis.name}.svg",
    )


def _plot(ctx: click.Context, analysis: Analysis, arguments: dict[str, Any], **values: Any) -> None:
    options = ChartOptions(**values)
    if options.column and (options.width or options.height):
        raise CallError("--column cannot be combined with --width and --height.", "Leave them out.")

    def draw(bank: Bank) -> Picture:
        from attnbank.queries.drawing import Drawing
        from attnbank.queries.pictures import Size

        answer = bank.answer(analysis.name, arguments, fresh=options.fresh)
        if answer.cached is not None:
            notify(f"Its rows were {answer.cached.message}.")
        look, size = options.look(stretch=options.stretch), Size(options.width, options.height)
        return Drawing(bank, answer).in_theme(options.theme, size, look)

    _write_picture(ctx, analysis.name, analysis.name, options, draw)


def _write_picture(
    ctx: click.Context, typed: str, name: str, options: PlotOptions,
    draw: Callable[[Bank], Picture],
) -> None:  # fmt: skip
    """Draw a picture from the bank, and write it to the file of -o; `typed` is how it is named."""
    file = requested_output(ctx)[1]
    if file is None:
        again = to_type(bank_path(ctx), f"plot {typed} -o {name}.svg")
        raise CallError("plot needs -o FILE.", again)
    ending = output.choose_format(ctx, {ending: ending for ending in ENDINGS})
    outputs.check_output(file, bank_path(ctx))
    if ending != ".json":
        require_extra(f"A picture as {ending[1:].upper()}", "plot", "vl_convert")
    with open_named_bank(ctx) as bank:
        picture = draw(bank)
        scale = options.scale or (_DOTS_OF_PAPER if options.column else 2.0)
        data = picture.as_bytes(ending, scale)
    with outputs.output_file(file, bank_path(ctx)) as opened:
        opened.write(data)
    if options.caption:
        safe_echo(picture.caption(command_as_typed(ctx)).rstrip())


@command("head_card", "--head 3-1 -o head_3-1.svg", group="attnbank plot")
@field_options(CardOptions)
@output_option("The file to write (required), ending in .svg, .png, .pdf, .html or .json.")
@fresh_option
@theme_option
@field_options(PlotOptions)
def head_card(ctx: click.Context, /, **values: Any) -> None:
    """What one head does: the relations it finds, where its attention goes, three examples.

    Each relation stands beside the best fixed offset, the accuracy on held-out documents, and the
    same head with random weights, if the bank has such a control. A star marks those above the
    offset by more than chance (p < 0.05, corrected for all heads and relations). What the bank
    lacks is left out, and named. The numbers are those of attnbank query best_relation,
    head_score, best_head_held_out, relative_position and special_tokens.
    """
    card = card_options(take_fields(CardOptions, values))
    options = PlotOptions(**values)
    _write_picture(
        ctx, f"head_card --head {card.head}", f"head_{card.head}", options,
        lambda bank: bank.picture(
            "head_card", theme=options.theme, look=options.look(), fresh=options.fresh, **vars(card)
        ),
    )  # fmt: skip


plot = Pictures(
    "plot",
    _plot,
    _describe_picture,
    compose(
        output_option(
            f"The file to write (required); its extension sets the format ({', '.join(ENDINGS)})."
            " json is the Vega-Lite specification."
        ),
        fresh_option,
        theme_option,
        field_options(ChartOptions),
    ),
    help=(
        "Draw the picture of an analysis.\n\nEach picture has the options of its analysis:"
        " attnbank plot NAME --help.\n\n\b\nExample:\n  attnbank plot best_head -o best_head.svg"
    ),
)


PICTURES = {".svg": "svg", ".png": "png", ".pdf": "pdf", ".html": "html"}
# Width of the bar of the largest weight, in columns of the terminal.
_BAR = 20
# Narrower terminals get no bars.
_NARROW = 80
_EIGHTHS = " ▏▎▍▌▋▊▉"


def _parse_word_range(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    if value is None:
        return None
    match = re.fullmatch("([0-9]{1,9})-([0-9]{1,9})", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is not a valid range of words (1-20).")
    return int(match[1]), int(match[2])


@command("show", "'pattern { V -[obj]-> O }' --head 3-1 --relation obj -o obj.svg")
@click.argument("sentence")
@field_options(ShowOptions, words={"callback": _parse_word_range})
@theme_option
@field_options(PaperOptions)
@file_options(
    [*output.FORMATS, *PICTURES.values()],
    (*PICTURES, *output.ENDINGS),
    "Format of the result: rows, or a picture (svg, png, pdf, html).",
)
def show(ctx: click.Context, /, sentence: str, theme: str, **values: Any) -> None:
    """Show what heads attend to in one sentence.

    SENTENCE is a sent_id, a number (12, or gum-dev:12 in a bank of several corpora), or a
    request in quotes, whose first hit is shown. In the terminal: each word, the word that it
    attends to most (not counting special tokens and the word itself), the weight, and whether
    that is its gold head. As a picture: two columns of words, joined by lines as strong as the
    weights.
    """
    paper = PaperOptions(**take_fields(PaperOptions, values))
    chosen, file = output.choose_format(ctx, PICTURES | output.ENDINGS), requested_output(ctx)[1]
    is_picture = chosen in PICTURES.values()
    if not is_picture:
        output.check_output(ctx)
        if values["tree"] or values["decoded"]:
            flag = "--tree" if values["tree"] else "--decoded"
            raise click.UsageError(f"{flag} is only for pictures: add -o FILE.svg.", ctx)
        if paper != PaperOptions():
            raise click.UsageError(
                "--column, --font-size, --no-title and --caption are only for pictures: add"
                " -o FILE.pdf.",
                ctx,
            )
    else:
        if chosen in ("png", "pdf"):
            require_extra(f"A {chosen}", "plot", "vl_convert")
        if file is not None:
            outputs.check_output(file, bank_path(ctx))
        elif paper.caption:
            raise click.UsageError("--caption needs a file for the picture: add -o FILE.pdf.", ctx)
    with open_named_bank(ctx) as bank:
        view = bank.show(sentence, **values)
    if is_picture:
        scale = _DOTS_OF_PAPER if paper.column else 2.0
        data = view.as_bytes(f".{chosen}", theme, paper.look(), scale)
        if chosen in ("png", "pdf") and file is None and sys.stdout.isatty():
            raise CallError(f"A terminal cannot show {chosen.upper()}.", "Give -o FILE.")
        with output.destination(ctx, binary=False) as opened:
            opened.write(data)
        if paper.caption:
            safe_echo(view.caption(command_as_typed(ctx)).rstrip())
    elif chosen in output.FOR_PEOPLE:
        _write_tables(ctx, view, chosen)
    else:
        output.write_frame(ctx, view.rows)


def _write_tables(ctx: click.Context, view: Shown, format_: str) -> None:
    width = output.terminal_width(ctx)
    with output.destination(ctx, binary=False) as file:
        is_backward = view.facts.direction == "head_to_dependent"
        word = "that attends most to each word" if is_backward else "that each word attends to most"
        heading = [
            output.run_title(view.run),
            f"The word {word}, not counting special tokens and the word itself",
            *view.facts.notes,
        ]
        output.write_heading(heading, format_, file)
        for panel in view.panels:
            output.write_heading(
                ["", f"{panel.full_name.capitalize()} on {panel.sentence}"], format_, file
            )
            table = _panel_table(view, panel)
            if width is not None and width < _NARROW:
                table = table.drop(" ")
            output.encode_frame(table, format_, file, width)


def _panel_table(view: Shown, panel: Panel) -> pl.DataFrame:
    import polars as pl

    from attnbank.queries.pictures.sentence import entity_letter

    rows = view.rows.filter(
        (pl.col("sent_id") == panel.sentence)
        & pl.col("layer").eq_missing(panel.layer)
        & pl.col("head").eq_missing(panel.head)
    )
    column = next(name for name in ("looks_at", "looked_at_by") if name in rows.columns)
    is_here = pl.col(f"{column}_position").is_in(panel.words["position"].to_list())
    requested, relation = view.facts.relation, pl.col("relation")
    is_requested = (relation == requested) | relation.str.starts_with(f"{requested}:")
    if requested in (None, "all"):
        is_requested = pl.lit(True)
    largest = panel.largest(view.facts.measure)
    bars = []
    for weight in rows["weight"]:
        eighths = round(min((weight or 0.0) / largest, 1.0) * _BAR * 8)
        bars.append("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip())
    columns = [
        pl.col("index").alias("n"),
        pl.col("dependent").alias("word"),
        pl.when(is_here).then(column).otherwise(pl.col(column) + " (elsewhere)").alias(column),
        pl.col("weight").alias(view.facts.figure),
        pl.Series(" ", bars, pl.String),
    ]
    if view.facts.coreference:
        letters = [
            " ".join(
                entity_letter(entity)
                for entity, first, last, _ in panel.mentions.rows()
                if first <= position <= last
            )
            for position in rows["position"]
        ]
        columns.append(pl.Series("mention", letters, pl.String))
    if rows["gold_head"].null_count() < rows.height:
        columns += [
            pl.when(pl.col("correct") & is_requested).then(pl.lit("✓")).alias("found"),
            pl.when(is_requested).then("gold_head"),
            pl.when(is_requested).then("relation"),
        ]
    return rows.select(columns)


# The default port, always the same so that bookmarks stay valid.
PORT = 8417


@command("report", "-o report.html")
@output_option("The file to write (required), ending in .html.")
@run_option(
    "Run of words over sentences for the sections on syntax, by name or id; other sections use"
    " other runs of its model. Repeat it to show further runs beside the first, one column each.",
    multiple=True,
)
@fresh_option
@quiet_option()
def report(ctx: click.Context, run: tuple[str, ...], fresh: bool) -> None:
    """Write a report: every table and figure of the papers that the bank has data for.

    The report is one HTML file without scripts, which loads nothing else and can be printed.
    """
    file = requested_output(ctx)[1]
    if file is None:
        raise CallError("report needs -o FILE.", to_type(bank_path(ctx), "report -o report.html"))
    from attnbank.queries.report.page import check_place, need_packages

    check_place(file, bank_path(ctx))
    need_packages()
    with open_named_bank(ctx) as bank, ProgressDisplay() as display:
        bank.report(
            file,
            run=run or None,
            on_section=lambda done, total: display(Progress("answering", done, total)),
            fresh=fresh,
        )


class _Explore(GuardedCommand):
    grace = 4.0  # requests get two seconds to end


@command("explore", "--port 0", cls=_Explore)
@option("--port", "Port on this machine; 0 takes any free one.", PORT, least=0, most=65535)
@option(
    "--browser/--no-browser opens_browser",
    "Open the system's browser. Default: only if this is a terminal.",
)
@option("--timeout", "Time limit of each page in seconds.", 60.0, is_seconds=True, most=86_400)
@memory_option("Memory limit of all analyses together, and of each SQL statement.")
@option(
    "-m --model",
    "Model for sentences that you type, by name or folder as for ingest. Default: the run's.",
    metavar="NAME",
)
def explore(
    ctx: click.Context, port: int, opens_browser: bool | None, timeout: float, memory: int,
    model: str | None,
) -> None:  # fmt: skip
    """Explore a bank in the browser.

    Prints an address with a secret token, which works on this machine only and until Ctrl-C:
    all heads in a grid, one head with examples right and wrong, sentences by a request, two
    runs side by side, every table and figure, SQL, and sentences that you type. The explorer
    only reads the bank; nothing can be ingested into it meanwhile.
    """
    require_extra(
        "The explorer", "explore", "anyio", "starlette", "uvicorn", "jinja2", "vl_convert"
    )
    path = bank_path(ctx)
    opens = sys.stdout.isatty() if opens_browser is None else opens_browser

    from attnbank.cli.viewer.site import serve

    serve(path, port, timeout, memory, opens_browser=opens, model=model)
