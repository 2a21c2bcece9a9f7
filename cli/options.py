"""Options that every command has, which may come before or after its name, and their classes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from attnbank.cli.printing import say
from attnbank.sql.bank.places import bank_place
from attnbank.sql.errors import CallError
from attnbank.sql.suggest import did_you_mean

if TYPE_CHECKING:
    from attnbank.queries import Bank

DEFAULT_BANK = "attnbank.duckdb"
_BANK = "attnbank.bank"
_DEBUG = "attnbank.debug"

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def _keep_bank(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[_BANK] = value


def _keep_debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_DEBUG] = True


def _shared() -> list[click.Parameter]:
    """New options -b and --debug, which keep their values in `ctx.meta` for all commands."""
    return [
        click.Option(
            ["-b", "--bank"],
            type=click.Path(),
            metavar="FILE",
            expose_value=False,
            callback=_keep_bank,
            help=f"The bank. Otherwise the variable ATTNBANK, or {DEFAULT_BANK}.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_keep_debug,
            help="Show the whole of an error.",
        ),
    ]


class Seconds(click.ParamType[float]):
    """A duration in seconds: above 0, and at most LONGEST."""

    name = "seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number of seconds; raises click.BadParameter through `fail`."""
        # This module imports nothing: a package that starts threads would prevent the later fork.
        from attnbank.queries.sandbox.limits import LONGEST

        try:
            seconds = float(value)
        except ValueError:
            self.fail(f"{value!r} is no number of seconds.", param, ctx)
        if not 0 < seconds <= LONGEST:  # false for NaN too
            self.fail(f"{value} is not in the range 0 < x <= {LONGEST:.0f}.", param, ctx)
        return seconds


class Bytes(click.ParamType[int]):
    """A size: 500MB, 2GB, or a number of bytes."""

    name = "size"
    _UNITS: ClassVar = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes; raises click.BadParameter through `fail`."""
        if isinstance(value, int):
            return value
        text = value.strip().lower()
        unit = text.lstrip("0123456789.")
        try:
            size = float(text.removesuffix(unit)) * self._UNITS[unit.strip()]
        except (KeyError, ValueError):
            self.fail(f"{value!r} is no size (500MB, 2GB).", param, ctx)
        if not 10**7 <= size <= 10**15:
            self.fail(f"{value} is not in the range 10MB to 1000TB.", param, ctx)
        return round(size)


def bank_path(ctx: click.Context, default: str = DEFAULT_BANK) -> Path:
    """The path of the bank: from -b, else from the variable ATTNBANK, else the default.

    Raises CallError for a name that is no path, BankError if what is there is not a file. So every
    command checks the path before it does any work.
    """
    named = ctx.meta.get(_BANK)
    if named is None:
        named = os.environ.get("ATTNBANK") or default
    ctx.meta[_BANK] = named  # so that what a command calls uses the default of the command
    bank_place(named)
    return Path(named).expanduser()


def refuse_bank(ctx: click.Context, remedy: str) -> None:
    """Raise CallError if -b was given to a command that does not work on one bank."""
    if _BANK in ctx.meta:
        raise CallError("This command takes no -b.", remedy)


def debugs(ctx: click.Context) -> bool:
    """Whether --debug was given: then tracebacks are printed."""
    return bool(ctx.meta.get(_DEBUG, False))


def open_named_bank(ctx: click.Context, seconds: float | None = None) -> Bank:
    """Open the named bank for reading; with `seconds`, only for requests with this time limit.

    Raises CallError or BankError if it cannot be opened.
    """
    path = bank_path(ctx)
    from attnbank import queries

    if seconds is None:
        return queries.open_bank(path)
    return queries.open_for_requests(path, seconds)


class BankCommand(click.Command):
    """A command with the options -b and --debug."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_shared())


class BankGroup(click.Group):
    """A group with the options -b and --debug that suggests a command for a mistyped one."""

    noun = "command"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_shared())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names. Raises click.UsageError if there is none."""
        name = args[0]
        is_known = self.get_command(ctx, name) is not None
        if not (is_known or name.startswith("-") or ctx.resilient_parsing):
            meant = did_you_mean(name, self.list_commands(ctx))
            raise click.UsageError(f"There is no {self.noun} {name}. {meant}".strip(), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole first sentence, which click would cut."""
        with formatter.section("Commands"):
            names = self.list_commands(ctx)
            commands = [(name, self.get_command(ctx, name)) for name in names]
            formatter.write_dl(
                [(name, each.get_short_help_str(200)) for name, each in commands if each]
            )


@click.pass_context
def help_if_alone(ctx: click.Context) -> None:
    """Print the help of a group that was called without a command."""
    if ctx.invoked_subcommand is None:
        say(*ctx.get_help().split("\n"))


trust_option = click.option(
    "--trust-remote-code",
    is_flag=True,
    help="Run the Python code that some models come with, to load them. Only for a model whose"
    " makers you trust: that code can do what you can.",
)
"""The option of commands that load a model."""


def output_options(command: _Decorated) -> _Decorated:
    """Add -f and -o, which say in which format results go where."""
    from attnbank.cli.output import ENDINGS, FORMATS
    from attnbank.cli.provenance import provenance_option

    endings = ", ".join(ENDINGS)
    command = provenance_option(command)
    command = click.option(
        "-o",
        "--output",
        type=click.Path(),
        metavar="FILE",
        help=f"Write to a file; its ending chooses the format ({endings}).",
    )(command)
    return click.option(
        "-f",
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        help="Format of the result. table, markdown and latex (needs booktabs) are rounded for "
        "people; the others are not. json has null for what is no finite number. csv and tsv have "
        "every text as it is, also one that a spreadsheet takes for a formula (=, +, -, @).",
    )(command)
