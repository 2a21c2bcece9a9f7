"""`attnbank ingest --engine spark --to DIR`: an export that the machines of a cluster fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from attnbank.cli.printing import say
from attnbank.cli.spark import ENGINES
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.ingest.options import IngestOptions, Report
    from attnbank.ingest.progress import OnProgress

_Command = TypeVar("_Command", bound=click.Command)


def elsewhere_option(command: _Command) -> _Command:
    """Add the options to a command; its function then gets `engine`, `to` and `master`."""
    command.params += [
        click.Option(
            ["--engine"],
            type=click.Choice(ENGINES),
            default="duckdb",
            show_default=True,
            help="What runs the model: this process, which fills the bank, or the executors of"
            " Spark, which fill an export (--to).",
        ),
        click.Option(
            ["--to"],
            metavar="DIR",
            help="The folder to fill, which all executors see under this path, for Spark.",
        ),
        click.Option(
            ["--master"],
            metavar="URL",
            help="The Spark cluster, as Spark names it; by default this machine.",
        ),
    ]
    return command


def check_elsewhere(engine: str, to: str | None, master: str | None) -> bool:
    """Whether Spark is to run the model. Raises CallError if the options do not fit together."""
    if engine == "spark":
        if to is None:
            raise CallError("Spark fills an export, and no folder is named.", "Give --to DIR.")
        return True
    if to is not None or master is not None:
        given = "--to" if to is not None else "--master"
        raise CallError(f"{given} is for Spark.", "Give --engine spark, or leave it out.")
    return False


def ingest_elsewhere(
    options: IngestOptions, to: str, master: str | None, on_progress: OnProgress
) -> Report:
    """Fill an export on Spark. Raises as `ingest_to_export` and `session_of` do."""
    from attnbank.ingest import ingest_to_export
    from attnbank.ingest.engines.spark import OnSpark
    from attnbank.queries.spark.sessions import LOCAL, session_of

    with session_of(master or LOCAL) as session:
        return ingest_to_export(options, to, lambda folder: OnSpark(session, folder), on_progress)


def print_next(to: str) -> None:
    """Say what can be done with the export."""
    say(
        f"A bank of it: attnbank -b new.duckdb import {to}",
        f"Or ask Spark: attnbank query best_head --engine spark --data {to}",
        err=True,
    )
