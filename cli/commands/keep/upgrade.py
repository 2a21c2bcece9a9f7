"""`attnbank upgrade`: bring a bank of an earlier attnbank up to date."""

from __future__ import annotations

import click

from attnbank.cli.options import BankCommand, bank_path
from attnbank.cli.printing import say


@click.command(cls=BankCommand)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def command(ctx: click.Context, quiet: bool) -> None:
    """Bring a bank that an earlier attnbank wrote up to date.

    Its tables get the columns that this version's have, its analyses become this version's, and
    its rows stay. All of it or nothing is done. An earlier attnbank cannot read the bank
    afterwards: keep a copy if you need that.

    \b
    Example:
      attnbank upgrade -b old.duckdb
    """
    from attnbank.sql.bank.upgrading import upgrade

    path = bank_path(ctx)
    done = upgrade(path)
    if quiet:
        return
    if not done.changed:
        say(f"{path} is up to date (format {done.after}); nothing was to do", err=True)
        return
    if done.before != done.after:
        say(f"{path} is of format {done.after} now; it was of format {done.before}", err=True)
    if done.added:
        say(f"Added: {', '.join(done.added)}", err=True)
    if done.analyses:
        say("Its views and analyses are this version's now", err=True)


command.name = "upgrade"
