"""`attnbank plot NAME`: the picture of an analysis, written to a file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import click

from attnbank.cli.apart import read_apart
from attnbank.cli.commands.ask.query import by_section, option_of, queries_option
from attnbank.cli.options import (
    BankCommand,
    BankGroup,
    bank_path,
    help_if_alone,
    open_named_bank,
)
from attnbank.cli.printing import say
from attnbank.sql.errors import CallError
from attnbank.sql.extras import need
from attnbank.sql.header import Analysis
from attnbank.sql.outputs import files as outputs
from attnbank.sql.registry import every, faults, find
from attnbank.sql.suggest import did_you_mean

ENDINGS = (".svg", ".png", ".pdf", ".html", ".json")
"""The formats that attnbank.queries.pictures writes, repeated here so that help need not load it.
"""


class Pictures(BankGroup):
    """The analyses that have a picture, as commands."""

    noun = "analysis"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the analyses that have a picture."""
        return [each.name for each in every().values() if each.plot is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of an analysis; None if there is none.

        Raises CallError for an analysis that has no picture, and for a user's file that holds no
        valid analysis.
        """
        plain = cmd_name.removeprefix("paper.").replace("-", "_")
        if plain in faults() and not ctx.resilient_parsing:
            raise faults()[plain]
        if plain not in every():
            return None
        if find(plain).plot is None:
            if ctx.resilient_parsing:
                return None
            those = ", ".join(self.list_commands(ctx))
            raise CallError(f"{plain} has no picture.", f"Those that have one: {those}.")
        return _command(plain)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the analyses that have a picture, by section."""
        for title, those in by_section().items():
            rows = [(each.name, f"{each.title}.") for each in those if each.plot is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@cache
def _command(name: str) -> click.Command:
    """The command of a picture, with the parameters of its analysis as options."""
    analysis = find(name)

    @click.pass_context
    def run(ctx: click.Context, /, **values: Any) -> None:
        _run(ctx, analysis, values)

    example = f"attnbank plot {name}"
    if analysis.plot is not None and "relation" in analysis.plot.panel:
        example += " --relation obj"
    return BankCommand(
        name=name,
        help=f"{analysis.title}.\n\nThe options are those of attnbank query {name}.\n\n"
        f"\b\nExample:\n  {example} -o {name}.svg",
        short_help=f"{analysis.title}.",
        params=[*map(option_of, analysis.parameters), *_picture_options()],
        callback=run,
    )


def _picture_options() -> list[click.Parameter]:
    """The options that every picture has besides those of its analysis."""
    return [
        click.Option(
            ["-o", "--output"],
            type=click.Path(),
            metavar="FILE",
            help=f"The file, which is needed; its ending chooses the format ({', '.join(ENDINGS)})."
            " json is the Vega-Lite specification.",
        ),
        click.Option(
            ["--fresh"], is_flag=True, help="Compute its rows, whatever attnbank compute has kept."
        ),
        click.Option(["--dark"], is_flag=True, help="Draw on black instead of white."),
        click.Option(
            ["--width"],
            type=click.IntRange(50, 4000),
            metavar="PIXELS",
            help="Width of a panel, without its labels.",
        ),
        click.Option(
            ["--height"],
            type=click.IntRange(50, 4000),
            metavar="PIXELS",
            help="Height of a panel, without its labels.",
        ),
        click.Option(
            ["--scale"],
            type=click.FloatRange(0.5, 8),
            default=2.0,
            show_default=True,
            help="Pixels of a PNG for each pixel of the picture.",
        ),
    ]


def _run(ctx: click.Context, analysis: Analysis, values: dict[str, Any]) -> None:
    """Run an analysis and write its picture to the file that -o names."""
    output, scale, dark = values.pop("output"), values.pop("scale"), values.pop("dark")
    fresh = values.pop("fresh")
    width, height = values.pop("width"), values.pop("height")
    ending = _ending(output, analysis.name)
    outputs.check_output(output, bank_path(ctx))
    if ending != ".json":
        need(f"A picture as {ending[1:].upper()}", "vl_convert")
    given = {name: value for name, value in values.items() if value is not None}

    def answer() -> None:
        from attnbank.queries.pictures import Size, as_bytes

        with open_named_bank(ctx) as bank:
            bank.reads_kept = not fresh
            kept = None if fresh else bank.kept(analysis.name, **given)
            specification = bank.plot_specification(
                analysis.name, theme="dark" if dark else "light", size=Size(width, height), **given
            )
        written = as_bytes(specification, ending, scale)
        with outputs.output_file(output, bank_path(ctx)) as file:
            file.write(written)
        if kept is not None:
            say(f"Its rows are {kept.told}.", err=True)

    read_apart(ctx, answer)


def _ending(output: str | None, name: str) -> str:
    """The ending of the file. Raises CallError if there is no file, or its ending is no format."""
    if output is None or output == "-":
        raise CallError("A picture goes to a file.", f"Type: attnbank plot {name} -o {name}.svg")
    ending = Path(output).suffix.lower()
    if ending not in ENDINGS:
        raise CallError(
            f"The ending of {output} is no format of a picture.",
            f"{did_you_mean(ending, ENDINGS)} End it in {', '.join(ENDINGS)}.".strip(),
        )
    return ending


command = queries_option(
    Pictures(
        name="plot",
        help=(
            "Draw the picture of an analysis.\n\n"
            "Each has the options of its analysis: attnbank plot NAME --help.\n\n"
            "\b\nExample:\n  attnbank plot best_head -o best_head.svg"
        ),
        short_help="Draw the picture of an analysis.",
        subcommand_metavar="NAME [OPTIONS]",
        invoke_without_command=True,
        callback=help_if_alone,
    )
)
