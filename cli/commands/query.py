"""`attnbank queries`, `query`, `sql`, `shell` and `schema`.

`query` has a command for each analysis, made from its header.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from attnbank.cli.guarded import command
from attnbank.cli.options import (
    BankCommand,
    BankGroup,
    Decorator,
    bank_path,
    complete_names,
    complete_prefix,
    compose,
    engine_options,
    fresh_option,
    memory_option,
    open_named_bank,
    open_source,
    option,
    requested_output,
    text_argument,
)
from attnbank.cli.output import (
    FOR_PEOPLE,
    MOST_ROWS,
    check_output,
    check_reader,
    output_options,
    record,
    run_title,
    write_frame,
    write_frames,
)
from attnbank.cli.safe_echo import notify, safe_echo
from attnbank.queries import parameters
from attnbank.sql.errors import AttnbankError, AttnbankWarning
from attnbank.sql.header import Analysis, Parameter
from attnbank.sql.paths import bank_file
from attnbank.sql.registry import (
    DIALECTS,
    QUERIES_VARIABLE,
    all_analyses,
    analyses_by_section,
    faults,
    find_analysis,
    load_user_analyses,
)


def _load_user_queries(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None and not ctx.resilient_parsing:
        load_user_analyses(value)


queries_option = option(
    "--queries",
    f"Folder with analyses of your own (.sql files with a header). Default: ${QUERIES_VARIABLE}.",
    metavar="DIR",
    type=click.Path(),
    envvar=QUERIES_VARIABLE,
    is_eager=True,  # parsed before the name of the analysis, which may be the user's own
    expose_value=False,
    callback=_load_user_queries,
)


class AnalysisGroup(BankGroup):
    """A group of commands, one for each analysis that it takes."""

    noun = "analysis"

    def __init__(
        self, name: str, run: Callable[..., None],
        describe: Callable[[Analysis], tuple[str, str]], options: Decorator, **more: Any,
    ) -> None:  # fmt: skip
        """`run` is called with the context, the analysis, its arguments and values of `options`.

        `describe` returns the help of an analysis below its title, and its example.
        """
        super().__init__(name, subcommand_metavar="NAME [OPTIONS]", **more)
        self.run, self.describe, self.options = run, describe, options
        self.make_cached = cache(self._make)
        queries_option(self)

    def takes(self, analysis: Analysis) -> bool:
        """Whether the group has a command for an analysis."""
        return True

    def sections(self) -> dict[str, list[str]]:
        """The names of the analyses by section."""
        names_by_title = {
            title: [analysis.name for analysis in analyses if self.takes(analysis)]
            for title, analyses in analyses_by_section().items()
        }
        return {title: names for title, names in names_by_title.items() if names}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command of an analysis. Raises CallError for a user's file that has a fault."""
        plain = registry_name(cmd_name)
        if plain in faults() and not ctx.resilient_parsing:
            raise faults()[plain]
        return self.make_cached(find_analysis(plain)) if plain in all_analyses() else None

    def _make(self, analysis: Analysis) -> click.Command:
        text, example = self.describe(analysis)

        @command(
            analysis.name,
            example,
            group=f"attnbank {self.name}",
            help=f"{analysis.title}.\n\n{text}",
            short_help=f"{analysis.title}.",
        )
        @compose(*map(_option_of, analysis.parameters), self.options)
        def callback(ctx: click.Context, /, **values: Any) -> None:
            arguments = {
                parameter.name: values.pop(parameter.name) for parameter in analysis.parameters
            }
            named = {name: value for name, value in arguments.items() if value is not None}
            self.run(ctx, analysis, named, **values)

        return callback


def registry_name(typed: str) -> str:
    """The name of an analysis in the registry, from what a user types."""
    return typed.removeprefix("paper.").replace("-", "_")


_METAVARS = {"varchar": "TEXT", "double": "NUMBER", "bigint": "INTEGER", "smallint": "INTEGER"}


def _option_of(parameter: Parameter) -> Decorator:
    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
        return None if value is None else parameters.from_text(parameter, value)

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        if parameter.names_run or parameter.name == "relation":
            kind = "run" if parameter.names_run else "relation"
            return complete_names(kind)(ctx, param, incomplete)
        return complete_prefix(parameter.choices or (), incomplete)

    flag = parameter.name.replace("_", "-")
    text = f"{parameter.help[:1].upper()}{parameter.help[1:]}."
    if parameter.default != "null":
        default = parameter.default.strip("'[]").replace(", ", ",")
        if parameter.type == "boolean":
            default = "yes" if default == "true" else "no"
        text += f" Default: {default}."
    if parameter.type == "boolean":
        return option(f"--{flag}/--no-{flag} {parameter.name}", text)
    element, is_list = parameters.element_type(parameter)
    metavar = _METAVARS.get(element, element.upper())
    if parameter.choices:
        metavar = f"[{'|'.join(parameter.choices)}]"
    return option(
        f"--{flag} {parameter.name}",
        text,
        metavar=f"{metavar},..." if is_list else metavar,
        callback=convert,
        shell_complete=complete,
    )


def _run_analysis(
    ctx: click.Context, analysis: Analysis, arguments: dict[str, Any], *, fresh: bool,
    show_sql: bool, dialect: str | None, **_: Any,
) -> None:  # fmt: skip
    if dialect is not None:
        from attnbank.queries.dialects import to_dialect

        safe_echo(*to_dialect(analysis.name, dialect, **arguments).split("\n"))
        return
    if show_sql:
        safe_echo(*analysis.text.rstrip().split("\n"))
        return
    check_output(ctx)
    all_arguments = {
        parameter.name: arguments.get(parameter.name, parameter.default)
        for parameter in analysis.parameters
    }
    with open_source(ctx) as source:
        answer = source.answer(analysis.name, arguments, fresh=fresh)
        frame, run, cached = answer.rows, answer.run, answer.cached
        record(
            ctx, source, None if run is None else run.name, analysis.text, analysis=analysis.name,
            parameters=all_arguments, kept_answer=None if cached is None else cached.message,
        )  # fmt: skip
    titles = [] if run is None else [run_title(run)]
    if cached is not None:
        titles.append(cached.message if titles else f"Answer: {cached.message}")
    write_frame(ctx, frame, title="; ".join(titles) or None, hint=analysis.empty)


def _describe(analysis: Analysis) -> tuple[str, str]:
    def as_sentence(text: str) -> str:
        return f"{text[:1].upper()}{text[1:].rstrip('.')}."

    width = max(len(column.name) for column in analysis.columns)
    lines = []
    for column in analysis.columns:
        first, *more = textwrap.wrap(column.help, 74 - width)
        lines.append(f"  {column.name:<{width}}  {first}")
        lines.extend(f"  {'':<{width}}  {line}" for line in more)
    parts = [
        " ".join(as_sentence(text) for text in (analysis.paper, analysis.grain) if text),
        *map(as_sentence, analysis.notes),
        "\b\nColumns:\n" + "\n".join(lines),
    ]
    takes_relation = any(parameter.name == "relation" for parameter in analysis.parameters)
    return "\n\n".join(parts), "--relation obj" if takes_relation else ""


query = AnalysisGroup(
    "query",
    _run_analysis,
    _describe,
    compose(
        fresh_option,
        option("--show-sql", "Print the SQL instead of running it.", False),
        option(
            "--dialect",
            "Print the SQL for this engine, with macros expanded and values filled in.",
            choices=DIALECTS,
        ),
        engine_options(),
        output_options,
    ),
    help=(
        "Run an analysis.\n\nEach analysis has its own options: attnbank query NAME"
        " --help.\n\n\b\nExample:\n  attnbank query best_head --relation obj"
    ),
)


@command("queries", cls=BankCommand)
@queries_option
@output_options
def queries(ctx: click.Context) -> None:
    """List the analyses."""
    for fault in faults().values():
        warnings.warn(f"{fault.fact} {fault.remedy}", AttnbankWarning, stacklevel=2)
    if requested_output(ctx) != (None, None):
        from attnbank.queries.bank import list_analyses

        write_frame(ctx, list_analyses())
        return
    width = max(map(len, all_analyses()))
    for title, analyses in analyses_by_section().items():
        safe_echo(title)
        for analysis in analyses:
            safe_echo(f"  {analysis.name:<{width}}  {analysis.title}")
            if analysis.paper:
                safe_echo(f"  {'':<{width}}  {analysis.paper}")
        safe_echo()
    safe_echo("Each takes options: attnbank query NAME --help")


@command(
    "sql", '"select upos, count(*) as n from word group by upos order by n desc"', cls=BankCommand
)
@text_argument("statement")
@option("--timeout", "Time limit in seconds, until the last row.", 300.0, is_seconds=True)
@memory_option("Memory limit.")
@output_options
def sql(ctx: click.Context, statement: str, timeout: float, memory: int) -> None:
    """Run a SELECT of your own on the bank.

    STATEMENT is one read-only statement, in quotes, or - for standard input. It cannot write,
    nor access files or the network, and is stopped at its time or memory limit. A table shows
    the first 10,000 rows; formats for programs have all of them.
    """
    from attnbank.queries.execution import Isolated

    most = MOST_ROWS if check_output(ctx) in FOR_PEOPLE else None
    with Isolated(bank_path(ctx), statement, None, timeout, memory, most) as running:
        running.on_count = lambda: check_reader(ctx)
        write_frames(ctx, running, count=lambda: running.count)
    if not running.count:
        from attnbank.queries.answers import reasons_without_rows

        if parameters.analyses_called(statement):
            with open_named_bank(ctx) as bank:
                for reason in reasons_without_rows(bank, statement):
                    notify(reason)


@command(
    "shell",
    "-c \"from best_head(relation := 'obj')\"",
    cls=BankCommand,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def shell(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Open the DuckDB shell on the bank, read-only.

    ARGUMENTS are passed to the shell.
    """
    from attnbank.sql.bank.bank_format import check_carried

    binary = find_shell()
    path = bank_file(bank_path(ctx))
    with open_named_bank(ctx) as bank:  # for clearer errors than the shell's
        check_carried(bank.connection, path, "the shell")
    sys.stdout.flush()
    os.execv(binary, [binary, "-readonly", str(path), *arguments])


def find_shell() -> str:
    """Find the duckdb program, beside this Python or on the PATH. Raises AttnbankError."""
    beside = Path(sys.executable).parent / "duckdb"
    path = str(beside) if beside.exists() else shutil.which("duckdb")
    if path is None:
        raise AttnbankError(
            "The DuckDB shell is not installed.",
            "In a clone of attnbank, type: pip install '.[shell]' (or take it from duckdb.org, 1.5"
            " or newer).",
        )
    return path


@command("schema", "attention")
@click.argument("table", required=False, shell_complete=complete_names("table"))
@output_options
def schema(ctx: click.Context, table: str | None) -> None:
    """Show the tables, views and analyses of the bank, or the columns of one.

    If a table and an analysis have the same name, TABLE is the table; for the analysis, type
    'head_distance()', in quotes.
    """
    with open_named_bank(ctx) as bank:
        frame = bank.schema(table)
    write_frame(ctx, frame, wraps=True)
