"""Options shared by commands, and the classes of commands and groups that have them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import MISSING, fields
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from attnbank.cli.safe_echo import safe_echo
from attnbank.sql import paths
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.messages import did_you_mean
from attnbank.sql.paths import address_of, bank_file, typed_path
from attnbank.sql.worker import LONGEST

if TYPE_CHECKING:
    from attnbank.queries import Bank
    from attnbank.queries.spark import Exported

DEFAULT_BANK = "attnbank.duckdb"
_TYPED = "attnbank.typed"
_LINE = "attnbank.line"

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class Decorator(Protocol):
    """A decorator that adds options to a command."""

    def __call__(self, function: Decorated, /) -> Decorated:
        """Add the options to a function, or to a command."""


def store_shared(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Callback of shared options: store the value for `shared_value`."""
    if value is not None and value is not False:
        ctx.meta[f"attnbank.{param.name}"] = value


def shared_value(ctx: click.Context, name: str) -> Any:
    """The value of a shared option, given before or after the subcommand; None if not given."""
    return ctx.meta.get(f"attnbank.{name}")


def requested_output(ctx: click.Context) -> tuple[str | None, str | None]:
    """The values of -f and -o; that of -o is None for standard output."""
    output = shared_value(ctx, "output")
    return shared_value(ctx, "format_"), None if output == "-" else output


def bank_path(ctx: click.Context, default: str = DEFAULT_BANK) -> Path:
    """The path of the bank: -b, else ATTNBANK, else `default`. Raises CallError, BankError."""
    bank = shared_value(ctx, "bank")
    if bank is None:
        bank = os.environ.get("ATTNBANK") or default
    path = paths.printable_path(bank)
    # Remember the bank for later calls, which may not know this default; secrets in a URL are cut.
    ctx.meta["attnbank.bank"] = bank if address_of(bank) is None else typed_path(path)
    if address_of(bank) is None:
        bank_file(bank)
    return path.expanduser()


def command_prefix(bank: Path) -> str:
    """The start of a command on this bank, to be typed: attnbank -b gum.duckdb."""
    is_named = bank != Path(DEFAULT_BANK) and str(bank) != os.environ.get("ATTNBANK")
    return f"attnbank -b {quote(typed_path(bank))}" if is_named else "attnbank"


def command_as_typed(ctx: click.Context) -> str:
    """The command as it was typed, for a caption, with files by name and without their folders."""
    bank = shared_value(ctx, "bank")
    parts = [*ctx.command_path.split(), *([] if bank is None else ["-b", Path(bank).name])]
    words = iter(ctx.meta[_TYPED])
    for word in words:
        flag, _, value = word.partition("=")
        if word in ("-b", "--bank"):
            next(words)
        elif word in ("-o", "--output"):
            parts += ["-o", Path(next(words)).name]
        elif flag == "--output" or (word.startswith("-o") and not word.startswith("--")):
            parts += ["-o", Path(value or word[2:]).name]
        elif flag not in ("--bank", "--caption") and not word.startswith("-b"):
            parts.append(word)
    return join(parts)


def open_named_bank(ctx: click.Context, seconds: float | None = None) -> Bank:
    """Open the named bank to read; `seconds` is the time limit of requests.

    Raises CallError and BankError.
    """
    path = bank_path(ctx)
    from attnbank import queries

    if seconds is None:
        return queries.open_bank(path)
    return queries.open_for_requests(path, seconds)


def check_engine(ctx: click.Context) -> bool:
    """Return whether the command runs on Spark.

    Raises CallError if --engine, --data or --to, and --master do not go together.
    """
    params = ctx.params
    name = "to" if "to" in params else "data"
    if params["engine"] == "duckdb":
        for spark_option in (name, "master"):
            if params[spark_option]:
                raise CallError(
                    f"--{spark_option} needs --engine spark.",
                    f"Add it, or leave --{spark_option} out.",
                )
        return False
    if not params[name] and name == "to":
        raise CallError("--engine spark needs --to DIR.", "Name the folder to fill: --to DIR.")
    if not params[name]:
        raise CallError(
            "--engine spark needs --data DIR.",
            "Write an export, attnbank export DIR, and name it: --data DIR.",
        )
    if name == "data" and len(params[name]) > 1:
        folders = join(params[name])
        raise CallError(
            "--engine spark reads one export.",
            f"Make one of these: attnbank -b all.duckdb merge {folders}, then attnbank -b"
            " all.duckdb export DIR.",
        )
    if ctx.get_parameter_source("timeout") is ParameterSource.COMMANDLINE:
        raise CallError("--timeout cannot be combined with --engine spark.", "Leave it out.")
    return True


def open_source(
    ctx: click.Context, seconds: float | None = None
) -> AbstractContextManager[Bank | Exported]:
    """Context manager that opens the named bank, or the export of --data.

    Raises CallError when it is called, before it is entered.
    """
    return _open_source(ctx, seconds, on_spark=check_engine(ctx))


@contextmanager
def _open_source(
    ctx: click.Context, seconds: float | None, *, on_spark: bool
) -> Iterator[Bank | Exported]:
    if not on_spark:
        with open_named_bank(ctx, seconds) as bank:
            yield bank
        return
    from attnbank.queries.spark_sessions import LOCAL, session_of

    (folder,) = ctx.params["data"]
    with session_of(ctx.params["master"] or LOCAL, folder) as session:
        from attnbank.queries.spark import open_export

        # Polars lets the system restart what a Ctrl-C interrupts; so it would wait for Spark.
        signal.siginterrupt(signal.SIGINT, True)

        yield open_export(session, folder)


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


def _size_callback(least: int) -> Callable[[click.Context, click.Parameter, str], int]:
    """Make a callback that parses a size in bytes (500MB, 2GB, or a number) of at least `least`."""

    def parse_size(ctx: click.Context, param: click.Parameter, value: str) -> int:
        text = value.strip().lower()
        unit = text.lstrip("0123456789.")
        try:
            size = float(text.removesuffix(unit)) * _UNITS[unit.strip()]
        except (KeyError, ValueError):
            raise click.BadParameter(f"{value!r} is not a valid size (500MB, 2GB).") from None
        if not least <= size <= 10**15:  # false for NaN too
            message = f"{value} is not in the range {least // 10**6}MB to 1000TB."
            raise click.BadParameter(message)
        return round(size)

    return parse_size


def _seconds_callback(most: float) -> Callable[[click.Context, click.Parameter, str], float]:
    """Make a callback that parses a number of seconds, above 0 and up to `most`."""

    def parse_seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
        try:
            seconds = float(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is not a valid number of seconds.") from None
        if not 0 < seconds <= most:  # false for NaN too
            raise click.BadParameter(f"{value} is not in the range 0 < x <= {most:.0f}.")
        return seconds

    return parse_seconds


def complete_names(kind: str) -> _Completer:
    """Make a completer for names of one kind in the bank: run, corpus, relation or table."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        try:
            path = bank_path(ctx)
        except AttnbankError:  # no usable bank, but the names of analyses are known without one
            path = Path()
        return complete_prefix(suggestions(path, kind), incomplete)

    return complete


# The seconds of a query: a person who has pressed the tab key is waiting.
_SECONDS_TO_COMPLETE = 1.0

_NAMES_TO_COMPLETE = {
    "corpus": "select corpus.name from corpus order by corpus.id",
    "run": "select run.name from run order by run.id desc",
    "relation": (
        "select distinct word.deprel from word where word.head_index > 0 order by word.deprel"
    ),
    "table": (
        "select concat(case when schema = 'main' then '' else schema || '.' end, name)"
        " from ({relation_names}) where kind in ('table', 'view')"
    ),
}


def suggestions(path: Path, kind: str) -> list[str]:
    """Names of one kind (run, corpus, relation or table) in a bank; none if it cannot be read."""
    from attnbank.sql import registry  # imported late: only the shell's completion needs them
    from attnbank.sql.bank.opening import open_to_read
    from attnbank.sql.names import without_subtype

    limit = f"set max_execution_time = {round(1000 * _SECONDS_TO_COMPLETE)}"
    relation_names = registry.internal_statement("contents/relation_names").rstrip().rstrip(";")
    names: list[str] = []
    # Missing, locked, not a bank, another version: then there is nothing to suggest.
    with suppress(Exception), open_to_read(path, (limit,), spills=False) as connection:
        statement = _NAMES_TO_COMPLETE[kind].format(relation_names=relation_names)
        names = [name for (name,) in connection.execute(statement).fetchall() if name]
    if kind == "relation" and names:
        names = sorted({"all", *names, *(without_subtype(name) for name in names)})
    if kind == "table":
        names += registry.analyses()
    return [name for name in names if name.isprintable()]


def complete_prefix(known: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """The known names that begin with `incomplete`, as completions."""
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]


def compose(*options: Decorator) -> Decorator:
    """Combine decorators into one; the first is the outermost."""

    def decorate(function: Decorated) -> Decorated:
        # Click lists the options of a function in reverse, those of a command as they are added.
        is_made = isinstance(function, click.Command)
        for decorator in options if is_made else reversed(options):
            function = decorator(function)
        return function

    return decorate


def option(flags: str, help: str, default: Any = None, **more: Any) -> Decorator:
    """An option of click, described as in `attnbank.sql.option_fields.option`.

    `flags` are separated by spaces and may end in the name of the function's parameter. The
    default is shown in the help; if it is False, the option is a flag. `more` may also have what
    click takes.
    """
    if default is False:
        return click.option(*flags.split(), is_flag=True, help=help, **more)
    choices = more.pop("choices", None)
    low, high = (more.pop(name, None) for name in ("least", "most"))
    above, below = (more.pop(name, None) for name in ("above", "below"))
    if choices is not None:
        more = {"type": click.Choice(choices)} | more
    elif more.pop("is_bytes", False):
        more = {"callback": _size_callback(low or 0), "metavar": "SIZE"} | more
        default = f"{default // 10**9}GB"
    elif more.pop("is_seconds", False):
        callback = _seconds_callback(LONGEST if high is None else high)
        more |= {"type": str, "callback": callback, "metavar": "SECONDS"}
    elif {low, high, above, below} != {None}:
        bounds = (low if above is None else above, high if below is None else below)
        is_float = any(isinstance(number, float) for number in (default, *bounds))
        kind = click.FloatRange if is_float else click.IntRange
        more["type"] = kind(*bounds, min_open=above is not None, max_open=below is not None)
    if default is not None or "/" in flags:  # --yes/--no is False without a default, and not None
        more |= {"default": default, "show_default": default not in (None, "", ())}
    return click.option(*flags.split(), help=help, **more)


def field_options(kind: type[Any], *names: str, **more: dict[str, Any]) -> Decorator:
    """Options for the fields of a dataclass that have help, those of its base class last.

    With `names`, only for these. `more` overrides attributes by field name. Runs, corpora and
    relations are completed from the bank.
    """
    by_name = {field.name: field for field in fields(kind) if field.metadata}
    own = [name for name in kind.__annotations__ if name in by_name]
    options = []
    for name in names or dict.fromkeys([*own, *by_name]):
        field = by_name[name]
        attributes = {**field.metadata, **more.get(name, {})}
        attributes.pop("in_name", None)
        flag = attributes.pop("flag", name.replace("_", "-"))
        flags = f"--{flag} {attributes.pop('short', '')} {name}"
        attributes.pop("group", None)
        if name in ("run", "corpus", "relation"):
            attributes["shell_complete"] = complete_names(name)
        default = None if field.default is MISSING else field.default
        options.append(option(flags, default=default, **attributes))
    return compose(*options)


def take_fields(kind: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Remove the values of a dataclass's fields from those of a command, and return them."""
    return {field.name: values.pop(field.name) for field in fields(kind) if field.name in values}


def text_argument(name: str) -> Decorator:
    """A text argument; - reads standard input."""

    def decode(ctx: click.Context, param: click.Parameter, value: str) -> str:
        return sys.stdin.read() if value == "-" and not ctx.resilient_parsing else value

    return click.argument(name, callback=decode)


REMEMBERED: dict[str, Any] = {"expose_value": False, "callback": store_shared}
_shared_options = compose(
    option(
        "-b --bank",
        f"The bank. Default: $ATTNBANK, else {DEFAULT_BANK}.",
        type=click.Path(),
        metavar="FILE",
        **REMEMBERED,
    ),
    option("--debug", "Show the full traceback of an error.", False, **REMEMBERED),
)


def output_option(help: str) -> Decorator:
    """The option -o, whose value `requested_output` returns."""
    return option("-o --output", help, type=click.Path(), metavar="FILE", **REMEMBERED)


def file_options(formats: Sequence[str], endings: Iterable[str], help: str) -> Decorator:
    """The options -f and -o, whose values `requested_output` returns; `help` is that of -f."""
    chooses = f"Write to this file; its extension sets the format ({', '.join(endings)})."
    return compose(
        option("-f --format format_", help, choices=formats, **REMEMBERED), output_option(chooses)
    )


def run_option(help: str, flag: str = "--run", **more: Any) -> Decorator:
    """An option that takes a run, completed from the bank."""
    return option(flag, help, shell_complete=complete_names("run"), **more)


def memory_option(help: str) -> Decorator:
    """The option --memory, in bytes."""
    return option("--memory", help, 2 * 10**9, is_bytes=True, least=10**7)


theme_option = option(
    "--theme",
    "Light or dark background, or print: black on white.",
    "light",
    choices=("light", "dark", "print"),
)
fresh_option = option("--fresh", "Compute it again, even if attnbank compute has cached it.", False)


def quiet_option(help: str = "Print only errors.") -> Decorator:
    """The option -q, which silences `notify`."""
    return option("-q --quiet", help, False, **REMEMBERED)


def engine_options(
    what: str = "What runs it: DuckDB on the bank, or Spark on an export of it (--data).",
    *,
    writes: bool = False,
) -> Decorator:
    """The options --engine (with help `what`), --master, and --data or, with `writes`, --to."""
    to = "Folder to fill, for Spark; all executors must see it under this path."
    data = "Folder that attnbank export wrote, or its address (s3a://...), for Spark."
    master = "URL of the Spark cluster. Default: this machine."
    return compose(
        option("--engine", what, "duckdb", choices=("duckdb", "spark")),
        option("--to", to, metavar="DIR")
        if writes
        else option("--data", data, multiple=True, metavar="DIR"),
        option("--master", master, metavar="URL"),
    )


# Headings of the help of every command, with the names of their options.
SECTIONS = {
    "Output": ("output", "format_", "provenance"),
    "Spark": ("engine", "data", "to", "master"),
    "General": ("quiet", "debug", "bank", "help"),
}


def _is_bank(typed: str) -> bool:
    """Whether an argument is the path of a bank, by its name or its magic bytes."""
    with suppress(OSError, ValueError):  # an argument may be longer than a file name can be
        path = Path(typed).expanduser()
        if path.is_file():
            if path.suffix == ".duckdb":
                return True
            with path.open("rb") as file:
                return file.read(12)[8:] == b"DUCK"
    return False


def _refuse_bank(ctx: click.Context, typed: str, missing: Sequence[str] = ()) -> None:
    """Raise CallError if an argument is a bank and -b is not given; suggest the right command.

    `missing` are the arguments that the command still needs.
    """
    if shared_value(ctx, "bank") is not None or ctx.resilient_parsing or not _is_bank(typed):
        return
    line = list(ctx.meta[_LINE])
    line.remove(typed)
    right = [join(["attnbank", "-b", typed, *line]), *missing]
    raise CallError(f"{typed} is a bank: name it with -b.", f"Type: {' '.join(right)}")


class BankCommand(click.Command):
    """A command with -b and --debug; `sections` are the headings of its help with option names.

    `takes_banks`: its arguments may be banks, and -b names a bank that it makes.
    """

    def __init__(
        self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None,
        takes_banks: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, **kwargs)
        self.sections, self.takes_banks = sections or {}, takes_banks
        _shared_options(self)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and remember them. Raises CallError for a misplaced bank."""
        ctx.meta[_TYPED] = tuple(args)
        if not (self.takes_banks or {*args} & {*ctx.help_option_names}):
            self._check_first(ctx, args)
        return super().parse_args(ctx, args)

    def _check_first(self, ctx: click.Context, args: list[str]) -> None:
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        try:
            values, extra, _ = parser.parse_args([*args])
        except click.UsageError:  # reported when click parses the arguments
            return
        arguments = [param for param in self.params if isinstance(param, click.Argument)]
        typed: list[Any] = []
        for argument in arguments:
            value = values.get(str(argument.name))
            typed += value if isinstance(value, tuple) else [value]
        # Where an argument is missing, click has None or a sentinel of its own, by its version.
        typed = [text for text in [*typed, *extra] if isinstance(text, str)]
        if typed and values.get("bank") is None:
            needed = [argument.make_metavar(ctx) for argument in arguments if argument.required]
            _refuse_bank(ctx, typed[0], needed[len(typed) - 1 :])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by section."""
        records = {
            "help" if "--help" in param.opts else str(param.name): record
            for param in self.get_params(ctx)
            if isinstance(param, click.Option)
            and (record := param.get_help_record(ctx)) is not None
        }
        parts = {
            title: [records.pop(name) for name in names if name in records]
            for title, names in {**self.sections, **SECTIONS}.items()
        }
        for title, rows in {"Options": list(records.values()), **parts}.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@click.pass_context
def _help_if_alone(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        safe_echo(*ctx.get_help().split("\n"))


class BankGroup(click.Group):
    """A group with -b and --debug that suggests a command for a mistyped one."""

    noun = "command"

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **{"callback": _help_if_alone} | kwargs, invoke_without_command=True)
        _shared_options(self)

    def sections(self) -> Mapping[str, Iterable[str]]:
        """The names of the commands by heading of the help."""
        raise NotImplementedError

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of the commands in the order of the help."""
        return [name for names in self.sections().values() for name in names]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; the outermost group remembers the whole line."""
        ctx.meta.setdefault(_LINE, tuple(args))
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command named by the first argument. Raises click.UsageError."""
        name = args[0]
        if not (self.get_command(ctx, name) or name.startswith("-") or ctx.resilient_parsing):
            _refuse_bank(ctx, name, ["info"] if ctx.parent is None and len(args) == 1 else [])
            meant = did_you_mean(name, self.list_commands(ctx))
            raise click.UsageError(f"There is no {self.noun} {name}. {meant}".strip(), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole first sentence, which click would truncate."""
        for title, names in self.sections().items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name, command.get_short_help_str(200))
                        for name, command in commands
                        if command
                    ]
                )
