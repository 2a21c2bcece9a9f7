"""The page of the commands: what `--help` prints for each."""

from __future__ import annotations

from collections.abc import Iterator

import click

from attnbank.cli.app import app
from attnbank.ingest.derived.computations import STEPS
from generator.markdown import block, made_by, page

_WIDTH = 80
_LIKE_QUERY = ("attnbank plot", "attnbank compute")


def pages() -> dict[str, str]:
    """The text of the page, by name of file."""
    return {"commands.md": page(_lines())}


def commands(
    command: click.Command = app, path: str = "attnbank"
) -> Iterator[tuple[str, click.Command]]:
    """Every command with what to type for it, including those of the analyses.

    An analysis is listed only under `query`, since `plot` and `compute` take the same options.
    """
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            if path in _LIKE_QUERY and name not in STEPS:
                continue
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, f"{path} {name}")


def _lines() -> Iterator[str]:
    yield from (made_by("the commands"), "", "# Commands", "")
    yield "What `attnbank COMMAND --help` prints."
    for path, command in commands():
        context = click.Context(
            command, info_name=path, terminal_width=_WIDTH, max_content_width=_WIDTH
        )
        yield from ("", f"## {path}", "", *block(command.get_help(context)))
