"""The option --provenance: a file that a command writes says what made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.options import bank_path
from attnbank.sql.errors import CallError
from attnbank.sql.outputs.files import check_output
from attnbank.sql.outputs.origins import (
    ENDING,
    as_text,
    digest,
    of_export,
    of_run,
    whole,
    write_beside,
)

if TYPE_CHECKING:
    from attnbank.queries import Bank
    from attnbank.queries.spark import Exported

_ASKED = "attnbank.provenance"
_FACTS = "attnbank.facts"
_NOT_TOLD = frozenset({"output", "format_", "quiet", "force"})


def _keep(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_ASKED] = True


provenance_option = click.option(
    "--provenance",
    is_flag=True,
    expose_value=False,
    callback=_keep,
    help="Let the file say what made it: in the metadata of Parquet, else in a file beside it"
    " (rows.csv.provenance.json).",
)
"""The option of commands that write files."""


def is_asked(ctx: click.Context) -> bool:
    """Whether --provenance was given."""
    return bool(ctx.meta.get(_ASKED, False))


def check(ctx: click.Context, output: str | None) -> None:
    """Raise CallError if --provenance was given and no file, or none beside it, can be written."""
    if is_asked(ctx) and output in (None, "-"):
        raise CallError(
            "--provenance says of a file what made it, and none is written.", "Give -o FILE."
        )
    if is_asked(ctx):
        check_output(f"{output}{ENDING}", bank_path(ctx))


def tell(
    ctx: click.Context,
    source: Bank | Exported,
    run: str | None,
    statement: str | None = None,
    **facts: Any,
) -> None:
    """Note what made the answer of a command: a run by its name, the SQL, and whatever else.

    Of exports it is told which they are, by the digests of their manifests. Does nothing unless
    --provenance was given.
    """
    if not is_asked(ctx):
        return
    from attnbank.queries import Bank

    found = dict(facts)
    if isinstance(source, Bank):
        found["run"] = None if run is None else of_run(source.connection, run)
    else:
        found["run"] = None if run is None else {"name": run}
        found["exports"] = [of_export(each) for each in ctx.params["data"]]
    if statement is not None:
        found["statement_sha256"] = digest(statement)
    ctx.meta[_FACTS] = found


def tell_runs(ctx: click.Context, bank: Bank, run: str | None) -> None:
    """Note what each run of a bank was made of, or the one of a name or id."""
    if not is_asked(ctx):
        return
    rows = bank.runs().select("id", "name").rows()
    names = [name for id, name in rows if run in (None, name, str(id))]
    ctx.meta[_FACTS] = {"runs": [of_run(bank.connection, each) for each in names]}


def facts(ctx: click.Context) -> dict[str, Any]:
    """All that is known of what made the file of a command."""
    given = {
        name: value
        for name, value in ctx.params.items()
        if name not in _NOT_TOLD and value not in (None, False, ())
    }
    told = {"command": ctx.command_path, "options": given, **ctx.meta.get(_FACTS, {})}
    return whole(told, None if "exports" in told else bank_path(ctx))


def text(ctx: click.Context) -> str | None:
    """The same as JSON, for the metadata of Parquet; None unless --provenance was given."""
    return as_text(facts(ctx)) if is_asked(ctx) else None


def beside(ctx: click.Context, output: str) -> None:
    """Write the same into a file beside that of -o, if --provenance was given."""
    if is_asked(ctx):
        write_beside(Path(output).expanduser(), facts(ctx), bank_path(ctx))
