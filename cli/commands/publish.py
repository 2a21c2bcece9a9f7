"""`attnbank publish`: a bank as pages that any file host serves."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.guarded import command
from attnbank.cli.options import (
    BankCommand,
    bank_path,
    complete_names,
    field_options,
    quiet_option,
    shared_value,
)
from attnbank.cli.output import format_bytes
from attnbank.cli.progress import ProgressDisplay
from attnbank.cli.safe_echo import notify
from attnbank.sql.errors import CallError
from attnbank.sql.option_fields import option as option_field

if TYPE_CHECKING:
    from attnbank.ingest.merge.excerpt import Keep

_KEEP = ("weights", "peaks")
# The largest file that GitHub accepts, in bytes.
_MOST_OF_HOSTS = 100_000_000


@dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """What `attnbank publish` writes, and whether it then shows it."""

    runs: tuple[str, ...] = option_field(
        (),
        "Publish this run, by name or id; can be repeated. Default: all runs.",
        flag="run",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_names("run"),
    )
    keep: tuple[str, ...] = option_field(
        (),
        "Which weights to publish: weights (all that the bank has), or peaks (only peaks and sums,"
        " a tenth to a third of the size); RUN=peaks sets it for one run. Can be repeated.",
        multiple=True,
        metavar="[RUN=]KIND",
    )
    inputs: int | None = option_field(
        None, "Publish only the first N inputs of each run, and only the text of these.",
        flag="sentences", least=1, most=None, metavar="N",
    )  # fmt: skip
    name: str | None = option_field(
        None, "Name of the bank, and of its folder in DIR. Default: that of its file.",
        metavar="NAME",
    )  # fmt: skip
    adds: bool = option_field(False, "Add the bank to those already in DIR.", flag="add")
    force: bool = option_field(False, "Replace a bank of the same name.")
    may: bool = option_field(
        False,
        "Confirm that you have permission to publish the text of a corpus whose licence does not"
        " give it.",
        flag="i-may",
    )
    serves: bool = option_field(
        False, "Then serve DIR on this machine, and open it in the browser.", flag="serve"
    )
    port: int = option_field(8418, "Port of --serve; 0 takes any free one.", least=0, most=65535)

    def kinds(self, runs: Mapping[int, str]) -> dict[str, Keep]:
        """What of the weights of each of these runs is published, by name; those in `keep` alone.

        Values of `keep` are `peaks` for all runs, or RUN=peaks for one. Raises CallError.
        """
        kinds: dict[str, Keep] = {}
        for value in self.keep:
            run, sign, kind = value.rpartition("=")
            if kind not in _KEEP:
                raise CallError(
                    f"{value!r} is not a valid value of --keep.",
                    "Use weights or peaks, or RUN=peaks for one run.",
                )
            names = [name for id, name in runs.items() if not sign or run in (name, str(id))]
            if not names:
                raise CallError(
                    f"--keep {value} names no run that is published.",
                    f"Published runs: {', '.join(runs.values())}.",
                )
            kinds |= dict.fromkeys(names, "peaks" if kind == "peaks" else "weights")
        return kinds


@command("publish", "site/", cls=BankCommand)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@field_options(PublishOptions)
@quiet_option()
def publish(ctx: click.Context, /, folder: Path, **values: Any) -> None:
    """Write a bank as static pages, which any file host can serve.

    DIR gets a folder for the bank, the programs that query it in the browser (DuckDB, and
    Python for requests), and a page that lists all banks in it. Upload DIR and share the link:
    a browser is all that readers need. All figures are computed beforehand. With --serve alone,
    an existing publication is shown.
    """
    from attnbank.ingest.merge.excerpt import chosen_runs
    from attnbank.sql.errors import require_extra

    require_extra("Publishing", "explore", "anyio", "starlette", "uvicorn", "jinja2", "vl_convert")
    options = PublishOptions(**values)
    serves_only = shared_value(ctx, "bank") is None and options == PublishOptions(
        serves=True, port=options.port
    )
    if serves_only and (folder / "index.html").is_file():
        _serve(folder, options.port)
        return
    from attnbank.cli.viewer.publishing import Publication, publish

    bank = bank_path(ctx)
    name = options.name
    if name is None:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", bank.stem).strip("-.") or "bank"
    kinds = options.kinds(chosen_runs(bank, options.runs))
    publication = Publication(bank, name, options.runs, kinds, options.inputs, options.may)

    if options.serves:
        from attnbank.cli.viewer.site import listen

        listen(options.port).close()  # fail before the long work if the port is taken

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
        published = publish(
            publication, folder, display, on_size, adds=options.adds, force=options.force
        )
    notify(
        *published.notes,
        f"Wrote the bank to {published.folder} ({format_bytes(published.bank)}); {folder} is"
        f" {format_bytes(published.total)} in all.",
        f"View it: attnbank publish {quote(str(folder))} --serve",
    )
    if options.serves:
        _serve(folder, options.port)


def _serve(folder: Path, port: int) -> None:
    from attnbank.cli.viewer.site import serve_publication

    serve_publication(folder, port, opens_browser=sys.stdout.isatty())
