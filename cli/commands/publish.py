"""`attnbank publish`: a bank as pages that any file host serves."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from attnbank.cli.exit_status import command
from attnbank.cli.options import (
    BankCommand,
    bank_path,
    command_prefix,
    option,
    quiet_option,
    run_option,
    shared_value,
)
from attnbank.cli.output import format_bytes
from attnbank.cli.progress import ProgressDisplay
from attnbank.cli.safe_echo import notify
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.ingest.merge.excerpt import Keep

_KEEP = ("weights", "peaks")
# The largest file that GitHub accepts, in bytes.
_MOST_OF_HOSTS = 100_000_000


def _parse_keep(values: tuple[str, ...], runs: dict[int, str]) -> dict[str, Keep]:
    """Parse --keep into what is published of each run, by its name.

    Values are `peaks` for all runs, or RUN=peaks for one.
    """
    kept: dict[str, Keep] = {}
    for value in values:
        run, sign, kind = value.rpartition("=")
        if kind not in _KEEP:
            raise CallError(
                f"{value!r} is not a valid value of --keep.",
                "Use weights or peaks, or RUN=peaks for one run.",
            )
        names = [name for number, name in runs.items() if not sign or run in (name, str(number))]
        if not names:
            raise CallError(
                f"--keep {value} names no run that is published.",
                f"Published runs: {', '.join(runs.values())}.",
            )
        kept |= dict.fromkeys(names, "peaks" if kind == "peaks" else "weights")
    return kept


@command("publish", "site/", cls=BankCommand)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@run_option("Publish this run, by name or id; can be repeated. Default: all runs.", "--run runs",
            multiple=True, metavar="NAME")  # fmt: skip
@option(
    "--keep",
    "Which weights to publish: weights (all that the bank has), or peaks (only peaks and sums, a"
    " tenth to a third of the size); RUN=peaks sets it for one run. Can be repeated.",
    multiple=True,
    metavar="[RUN=]KIND",
)
@option("--sentences inputs", "Publish only the first N inputs of each run.", least=1, type=int,
        metavar="N")  # fmt: skip
@option("--name", "Name of the bank, and of its folder in DIR. Default: that of its file.",
        metavar="NAME")  # fmt: skip
@option("--add adds", "Add the bank to those already in DIR.", False)
@option("--force", "Replace a bank of the same name.", False)
@option(
    "--i-may may",
    "Confirm that you have permission to publish the text of a corpus whose licence does not give"
    " it.",
    False,
)
@option("--serve serves", "Then serve DIR on this machine, and open it in the browser.", False)
@option("--port", "Port of --serve; 0 takes any free one.", 8418, least=0, most=65535)
@quiet_option()
def publish(
    ctx: click.Context, /, folder: Path, runs: tuple[str, ...], keep: tuple[str, ...],
    inputs: int | None, name: str | None, adds: bool, force: bool, may: bool, serves: bool,
    port: int,
) -> None:  # fmt: skip
    """Write a bank as static pages, which any file host can serve.

    DIR gets a folder for the bank, the programs that query it in the browser (DuckDB, and
    Python for requests), and a page that lists all banks in it. Upload DIR and share the link:
    a browser is all that readers need. All figures are computed beforehand. With --serve alone,
    an existing publication is shown.
    """
    from attnbank.ingest.merge.excerpt import chosen_runs
    from attnbank.sql.extras import require_extra

    require_extra("Publishing", "explore", "anyio", "starlette", "uvicorn", "jinja2", "vl_convert")
    has_options = (
        runs or keep or inputs or name or adds or force or may or shared_value(ctx, "bank")
    )
    if serves and not has_options and (folder / "index.html").is_file():
        _serve(folder, port)
        return
    from attnbank.cli.publish.publishing import Publication, publish

    bank = bank_path(ctx)
    publication = Publication(
        bank, _title_of_bank(bank) if name is None else name, runs,
        _parse_keep(keep, chosen_runs(bank, runs)), inputs, may,
    )  # fmt: skip

    if serves:
        from attnbank.cli.explorer.site import listen

        listen(port).close()  # fail before the long work if the port is taken

    def on_size(of_bank: int, of_programs: int) -> None:
        notify(
            f"The bank is {format_bytes(of_bank)}, of which a page loads only what it shows; DuckDB"
            f" and Python for browsers are {format_bytes(of_programs)}."
        )
        if of_bank > _MOST_OF_HOSTS:
            notify(
                "Some hosts, such as GitHub, reject files over 100 MB: see --keep peaks and"
                " --sentences."
            )

    with ProgressDisplay() as display:
        published = publish(publication, folder, display, on_size, adds=adds, force=force)
    notify(
        *published.notes,
        f"Wrote the bank to {published.folder} ({format_bytes(published.bank)}); {folder} is"
        f" {format_bytes(published.total)} in all.",
        f"View it: attnbank publish {quote(str(folder))} --serve",
    )
    if serves:
        _serve(folder, port)


def _title_of_bank(bank: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", bank.stem).strip("-.") or "bank"


def _serve(folder: Path, port: int) -> None:
    from attnbank.cli.explorer.site import serve_publication

    serve_publication(folder, port, opens_browser=sys.stdout.isatty())


@command("fetch", "https://HOST/gum/bank.duckdb gum.duckdb", cls=BankCommand, takes_banks=True)
@click.argument("url")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@quiet_option()
def fetch(ctx: click.Context, url: str, file: Path | None) -> None:
    """Download a published bank.

    FILE (or -b) is by default the file name in the address. To resume an interrupted download,
    type the same command again. The file is compared with the digest that `publish` wrote.
    """
    from attnbank.ingest.progress import Progress
    from attnbank.sql.bank.fetching import fetch, file_of

    output = file or shared_value(ctx, "bank")
    target = file_of(url) if output is None else Path(output).expanduser()
    with ProgressDisplay() as display:

        def on_bytes(done: int, total: int | None) -> None:
            millions = None if total is None else max(1, total // 10**6)
            display(Progress("fetching", min(done // 10**6, millions or done), millions))

        digest = fetch(url, target, on_bytes)
    verified = (
        "no digest was published to check it with"
        if digest is None
        else "its SHA-256 matches the published one"
    )
    notify(
        f"Downloaded {target} ({format_bytes(target.stat().st_size)}); {verified}.",
        f"Next: {command_prefix(target)} info",
    )
