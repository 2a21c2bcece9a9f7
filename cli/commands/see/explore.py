"""`attnbank explore`: walk through a bank in the browser."""

from __future__ import annotations

import sys

import click

from attnbank.cli.apart import read_apart
from attnbank.cli.options import BankCommand, Bytes, bank_path
from attnbank.cli.printing import say
from attnbank.sql.extras import need

PORT = 8417
"""The port if none is named: always the same, so that bookmarks stay valid."""


@click.command(cls=BankCommand)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="The port on this machine; 0 is any that is free.",
)
@click.option(
    "--browser/--no-browser",
    "opens_browser",
    default=None,
    help="Open the system's browser. By default only in a terminal.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long one request may take.",
)
@click.option(
    "--memory",
    type=Bytes(),
    default="2GB",
    show_default=True,
    metavar="SIZE",
    help="How much memory analyses may take together, and each statement besides.",
)
@click.pass_context
def command(
    ctx: click.Context, port: int, opens_browser: bool | None, timeout: float, memory: int
) -> None:
    """Walk through a bank in the browser.

    Prints an address with a token in it, and answers only this machine until Ctrl-C: all heads in
    a grid, one head with examples right and wrong, sentences by a request, two runs side by side,
    every table and figure, SQL. It reads and never writes; no run can be ingested meanwhile.

    \b
    Example:
      attnbank explore --port 0
    """
    need("The explorer", "starlette", "uvicorn", "jinja2", "vl_convert")
    path = bank_path(ctx)
    opens = sys.stdout.isatty() if opens_browser is None else opens_browser

    def answer() -> None:
        from attnbank.cli.explorer.serving import serve

        serve(path, port, timeout, memory, say, opens_browser=opens)

    read_apart(ctx, answer)


command.name = "explore"
