"""`attnbank shell`: the DuckDB shell on a bank."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from attnbank.cli.options import BankCommand, bank_path, open_named_bank
from attnbank.sql.bank.places import bank_place
from attnbank.sql.errors import AttnbankError


@click.command(
    cls=BankCommand,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Open the DuckDB shell on the bank, read-only.

    ARGUMENTS go to the shell as they are.

    \b
    Example:
      attnbank shell -c "from best_head(relation := 'obj')"
    """
    from attnbank.sql.bank.formats import check_carried

    binary = find_shell()
    path = bank_place(bank_path(ctx))
    with open_named_bank(ctx) as bank:  # its errors say more than those of the shell
        check_carried(bank.connection, path, "the shell")
    sys.stdout.flush()
    os.execv(binary, [binary, "-readonly", str(path), *arguments])


def find_shell() -> str:
    """The path of the duckdb program: the one beside this Python, or else the one on the PATH.

    Raises AttnbankError if there is none.
    """
    beside = Path(sys.executable).parent / "duckdb"
    found = str(beside) if beside.exists() else shutil.which("duckdb")
    if found is None:
        raise AttnbankError(
            "The DuckDB shell is not installed.",
            "Type: pip install duckdb-cli (or take it from duckdb.org, 1.5 or newer).",
        )
    return found


command.name = "shell"
