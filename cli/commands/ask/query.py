"""`attnbank query NAME`: one command per analysis, made from its header."""

from __future__ import annotations

import textwrap
from functools import cache
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from attnbank.cli.apart import read_apart
from attnbank.cli.completion import beginning, names
from attnbank.cli.options import (
    BankCommand,
    BankGroup,
    help_if_alone,
    open_named_bank,
    output_options,
)
from attnbank.cli.printing import say
from attnbank.cli.provenance import tell
from attnbank.cli.spark import check_engine, engine_options
from attnbank.queries import parameters
from attnbank.queries.own import VARIABLE, join
from attnbank.sql.header import OWN, Analysis, Parameter
from attnbank.sql.registry import every, faults, find

if TYPE_CHECKING:
    from attnbank.queries import Bank
    from attnbank.queries.spark import Exported
    from attnbank.sql.runs import Run

_TITLES = {
    "paper": "The paper's tables and figures",
    "surface": "Surface patterns (section 3)",
    "syntax": "Syntax (section 4.2)",
    "languages": "Many corpora and languages, one model",
    "coreference": "Coreference (section 4.3)",
    "probes": "Probes (section 5)",
    "clusters": "Clusters (section 6)",
    "kovaleva": "Patterns and classes (Kovaleva et al. 2019)",
    "voita": "Functions of heads (Voita et al. 2019)",
    OWN: "Your own (--queries)",
}
"""The titles of the sections of the registry, in the order in which they are listed."""


def by_section() -> dict[str, list[Analysis]]:
    """The analyses by the title of their section, or by its name if it has no title."""
    sections = dict.fromkeys([*_TITLES, *(each.section for each in every().values())])
    found = {
        _TITLES.get(section, section.capitalize()): [
            each for each in every().values() if each.section == section
        ]
        for section in sections
    }
    return {title: those for title, those in found.items() if those}


class HeaderType(click.ParamType[Any]):
    """The type of a parameter as its header declares it, for values that a person types."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        element, is_list = parameters.element_type(parameter)
        allowed = parameter.choices
        shown = f"[{'|'.join(allowed)}]" if allowed else _METAVARS.get(element, element.upper())
        self.name = f"{shown},..." if is_list else shown

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value in the declared type. Raises CallError if it does not fit."""
        return parameters.from_text(self.parameter, value) if isinstance(value, str) else value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Completions: runs or relations of the bank, or the choices of the parameter."""
        if self.parameter.names_run:
            return names("run")(ctx, param, incomplete)
        if self.parameter.name == "relation":
            return names("relation")(ctx, param, incomplete)
        return beginning(list(self.parameter.choices or ()), incomplete)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """How the help shows the value: its type or its choices."""
        return self.name


_METAVARS = {"varchar": "TEXT", "double": "NUMBER", "bigint": "INTEGER", "smallint": "INTEGER"}


class Queries(BankGroup):
    """The analyses as commands."""

    noun = "analysis"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all analyses."""
        return list(every())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of an analysis; None if there is none.

        Raises the CallError of a user's file that holds no valid analysis.
        """
        plain = cmd_name.removeprefix("paper.").replace("-", "_")
        if plain in faults() and not ctx.resilient_parsing:
            raise faults()[plain]
        return _command(plain) if plain in every() else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the analyses by section."""
        for title, those in by_section().items():
            with formatter.section(title):
                formatter.write_dl([(each.name, f"{each.title}.") for each in those])


def _join(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None and not ctx.resilient_parsing:
        join(value)


queries_option = click.option(
    "--queries",
    metavar="DIR",
    type=click.Path(),
    envvar=VARIABLE,
    is_eager=True,  # it must be read before the name of the analysis
    expose_value=False,
    callback=_join,
    help=f"A folder of analyses of your own, .sql files with a header. Otherwise the variable"
    f" {VARIABLE}.",
)
"""The option of commands that know the user's own analyses."""


@cache
def _command(name: str) -> click.Command:
    """The command of an analysis, with its parameters as options; made once per process."""
    analysis = find(name)

    @click.pass_context
    def run(ctx: click.Context, /, **values: Any) -> None:
        _run(ctx, analysis, values)

    options = [option_of(parameter) for parameter in analysis.parameters]
    command = output_options(
        BankCommand(
            name=name,
            help=_help(analysis),
            short_help=f"{analysis.title}.",
            params=[*options, *_sql_options()],
            callback=run,
        )
    )
    return command


def _run(ctx: click.Context, analysis: Analysis, values: dict[str, Any]) -> None:
    """Run an analysis with the values of its options, and write its rows or its SQL."""
    shows_sql, dialect = values.pop("show_sql"), values.pop("dialect")
    format_, output, fresh = values.pop("format_"), values.pop("output"), values.pop("fresh")
    engine, folders, master = values.pop("engine"), values.pop("data"), values.pop("master")
    given = {name: value for name, value in values.items() if value is not None}
    if shows_sql or dialect:
        _show_sql(analysis, dialect, given)
        return
    from attnbank.cli.output import check_output, write_frame

    check_output(ctx, format_, output)
    if check_engine(engine, folders, master):
        from attnbank.cli.spark import exported

        with exported(folders, master) as on_spark:
            frame = on_spark.query(analysis.name, **given)
            run = on_spark.run_of(analysis.name, **given)
            _tell(ctx, on_spark, analysis, given, run)
        write_frame(ctx, frame, format_, output, title=_title(run), hint=analysis.empty)
        return

    def answer() -> None:
        with open_named_bank(ctx) as bank:
            bank.reads_kept = not fresh
            frame = bank.query(analysis.name, **given)
            run = bank.run_of(analysis.name, **given)
            kept = None if fresh else bank.kept(analysis.name, **given)
            told = None if kept is None else kept.told
            _tell(ctx, bank, analysis, given, run, kept_answer=told)
        title = _title(run)
        if kept is not None:
            title = f"Answer: {kept.told}" if title is None else f"{title}; {kept.told}"
        write_frame(ctx, frame, format_, output, title=title, hint=analysis.empty)

    read_apart(ctx, answer)


def _tell(
    ctx: click.Context, source: Bank | Exported, analysis: Analysis, given: dict[str, Any],
    run: Run | None, **facts: Any,
) -> None:  # fmt: skip
    """Note what made the rows of an analysis, for --provenance."""
    values = {each.name: given.get(each.name, each.default) for each in analysis.parameters}
    name = None if run is None else run.name
    tell(ctx, source, name, analysis.text, analysis=analysis.name, parameters=values, **facts)


def _title(run: Run | None) -> str | None:
    """The name of the run that answered, and among how many it was chosen, if it was not named."""
    if run is None:
        return None
    others = (
        "" if run.among == 1 else f", of {run.among} that fit (another: --run, or attnbank use)"
    )
    return f"Run: {run.name}{others}"


def _show_sql(analysis: Analysis, dialect: str | None, given: dict[str, Any]) -> None:
    if dialect is None:
        say(*analysis.text.rstrip().split("\n"))
        return
    from attnbank.queries.dialects import to_dialect

    say(*to_dialect(analysis.name, dialect, **given).split("\n"))


def option_of(parameter: Parameter) -> click.Option:
    """The command line option of a parameter of an analysis."""
    flag = parameter.name.replace("_", "-")
    shown = "" if parameter.default == "null" else f" Default: {_shown_default(parameter)}."
    text = f"{parameter.help[:1].upper()}{parameter.help[1:]}.{shown}"
    if parameter.type == "boolean":
        return click.Option([f"--{flag}/--no-{flag}", parameter.name], default=None, help=text)
    return click.Option(
        [f"--{flag}", parameter.name], type=HeaderType(parameter), default=None, help=text
    )


def _shown_default(parameter: Parameter) -> str:
    if parameter.type == "boolean":
        return "yes" if parameter.default == "true" else "no"
    return parameter.default.strip("'[]").replace(", ", ",")


def _sql_options() -> list[click.Parameter]:
    """The options that every analysis has besides its own parameters."""
    from attnbank.sql.registry import DIALECTS

    return [
        click.Option(
            ["--fresh"], is_flag=True, help="Compute it, whatever attnbank compute has kept."
        ),
        click.Option(["--show-sql"], is_flag=True, help="Print the statement and do not run it."),
        click.Option(
            ["--dialect"],
            type=click.Choice(DIALECTS),
            help="Print it for this engine, with no macros and the values filled in.",
        ),
        *engine_options(),
    ]


def _help(analysis: Analysis) -> str:
    """The help text of an analysis, made from its header."""
    example = f"attnbank query {analysis.name}"
    if any(each.name == "relation" for each in analysis.parameters):
        example += " --relation obj"
    parts = [
        f"{analysis.title}.",
        " ".join(_sentence(each) for each in (analysis.paper, analysis.grain) if each),
        *(_sentence(note) for note in analysis.notes),
        f"\b\nExample:\n  {example}",
        "\b\nColumns:\n" + "\n".join(_column_lines(analysis)),
    ]
    return "\n\n".join(parts)


def _column_lines(analysis: Analysis) -> list[str]:
    width = max(len(column.name) for column in analysis.columns)
    lines = []
    for column in analysis.columns:
        first, *more = textwrap.wrap(column.help, 74 - width)
        lines.append(f"  {column.name:<{width}}  {first}")
        lines.extend(f"  {'':<{width}}  {line}" for line in more)
    return lines


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


command = queries_option(
    Queries(
        name="query",
        help=(
            "Run an analysis.\n\nEach has its own options: attnbank query NAME --help.\n\n"
            "\b\nExample:\n  attnbank query best_head --relation obj"
        ),
        short_help="Run an analysis.",
        subcommand_metavar="NAME [OPTIONS]",
        invoke_without_command=True,
        callback=help_if_alone,
    )
)
