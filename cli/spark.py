"""The options of commands that can be answered by Spark, over exports, in place of a bank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from attnbank.cli.apart import read_apart
from attnbank.cli.options import open_named_bank
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.queries import Bank
    from attnbank.queries.spark import Exported

_Command = TypeVar("_Command", bound=click.Command)
ENGINES = ("duckdb", "spark")


def engine_options() -> list[click.Parameter]:
    """New options --engine, --data and --master."""
    return [
        click.Option(
            ["--engine"],
            type=click.Choice(ENGINES),
            default="duckdb",
            show_default=True,
            help="What answers: DuckDB over the bank, or Spark over an export of one (--data).",
        ),
        click.Option(
            ["--data"],
            multiple=True,
            metavar="DIR",
            help="A folder that attnbank export wrote, or its address (s3a://...), for Spark;"
            " several are read as one.",
        ),
        click.Option(
            ["--master"],
            metavar="URL",
            help="The Spark cluster, as Spark names it; by default this machine.",
        ),
    ]


def check_engine(engine: str, folders: Sequence[str], master: str | None) -> bool:
    """Whether Spark is to answer. Raises CallError if the three options do not fit together."""
    if engine == "spark":
        if not folders:
            raise CallError(
                "Spark reads an export, and none is named.",
                "Make one, attnbank export DIR, and name it: --data DIR.",
            )
        return True
    if folders or master is not None:
        given = "--data" if folders else "--master"
        raise CallError(f"{given} is for Spark.", "Give --engine spark, or leave it out.")
    return False


def engine_option(command: _Command) -> _Command:
    """Add the options to a command; its function then gets `engine`, `data` and `master`."""
    command.params += engine_options()
    return command


class Source:
    """What a request is asked of: the named bank, or exports on Spark."""

    def __init__(
        self, ctx: click.Context, engine: str, folders: Sequence[str], master: str | None
    ) -> None:
        """Raises CallError if the options do not fit together, or --timeout is given for Spark."""
        self._ctx = ctx
        self._folders = folders
        self._master = master
        self.is_spark = check_engine(engine, folders, master)
        if self.is_spark and ctx.get_parameter_source("timeout") is ParameterSource.COMMANDLINE:
            raise CallError("--timeout is for DuckDB.", "Leave it out: Spark ends when it is done.")

    def open(self, seconds: float | None = None) -> AbstractContextManager[Bank | Exported]:
        """The bank, with a limit for each statement if one is given; or the exports."""
        if self.is_spark:
            return exported(self._folders, self._master)
        return open_named_bank(self._ctx, seconds)

    def read(self, answer: Callable[[], None]) -> None:
        """Do what reads and prints: in a process of its own, if a bank is read."""
        if self.is_spark:
            answer()
        else:
            read_apart(self._ctx, answer)


@contextmanager
def exported(folders: Sequence[str], master: str | None) -> Iterator[Exported]:
    """The export, or several as one, open on a Spark session that ends with it.

    Raises as `session_of` and `open_export` do.
    """
    from attnbank.queries.spark.sessions import LOCAL, session_of

    with session_of(master or LOCAL) as session:
        from attnbank.queries.spark import open_export

        yield open_export(session, *folders)
