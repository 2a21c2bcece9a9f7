"""The reference pages, from what the commands and the schema say of themselves.

`python -m attnbank.cli.reference docs` writes `commands.md` and `schema.md` into a folder.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnbank.cli.app import app
from attnbank.cli.commands.ask.query import by_section
from attnbank.sql.outputs.files import output_file

if TYPE_CHECKING:
    from attnbank.queries import Bank
    from attnbank.sql.header import Analysis, Parameter

_WIDTH = 80
_MADE_BY = "<!-- Made by python -m attnbank.cli.reference docs; do not edit. -->"


def main(folder: Path) -> None:
    """Write the pages into a folder."""
    for name, text in pages().items():
        with output_file(folder / name) as file:
            file.write(text.encode())


def pages() -> dict[str, str]:
    """The pages by name of file."""
    return {
        "commands.md": "\n".join(_commands()) + "\n",
        "schema.md": "\n".join(_schema()) + "\n",
    }


def _commands() -> Iterator[str]:
    yield from (_MADE_BY, "", "# Commands", "")
    yield "What `attnbank COMMAND --help` prints."
    for path, command in _walk(app, "attnbank"):
        context = click.Context(
            command, info_name=path, terminal_width=_WIDTH, max_content_width=_WIDTH
        )
        yield from ("", f"## {path}", "", "```", command.get_help(context), "```")


def _walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _walk(inner, f"{path} {name}")


def _schema() -> Iterator[str]:
    from attnbank.queries import open_bank
    from attnbank.sql.bank.opening import open_to_write

    with tempfile.TemporaryDirectory(prefix="attnbank-") as folder:
        path = Path(folder, "empty.duckdb")
        open_to_write(path, "reference").close()
        with open_bank(path) as bank:
            yield from (_MADE_BY, "", "# What is in a bank")
            yield from _relations(bank)
    yield from _analyses()


def _relations(bank: Bank) -> Iterator[str]:
    from attnbank.queries import analyses

    titles = {"table": "Tables", "view": "Views", "function": "Functions"}
    everything = bank.schema().rows()
    for kind, title in titles.items():
        yield from ("", f"## {title}")
        for each, name, comment in everything:
            if each != kind or name.removeprefix("paper.") in analyses():
                continue
            yield from ("", f"### {name}", "", comment)
            if kind != "function":
                yield from ("", "| column | type | |", "|---|---|---|")
                for column, type_, text in bank.schema(name).rows():
                    yield f"| `{column}` | `{type_}` | {_cell(text)} |"


def _analyses() -> Iterator[str]:

    yield from ("", "## Analyses")
    for title, those in by_section().items():
        yield from ("", f"### {title}")
        for analysis in those:
            yield from _analysis(analysis)


def _analysis(analysis: Analysis) -> Iterator[str]:
    yield from ("", f"#### {analysis.name}", "", f"`from {analysis.relation}`")
    yield from ("", f"{analysis.title}.")
    for text in (analysis.paper, analysis.grain, *analysis.notes):
        yield from ("", f"{text[:1].upper()}{text[1:].rstrip('.')}.")
    if analysis.parameters:
        yield from ("", "| parameter | type | default | |", "|---|---|---|---|")
        for each in analysis.parameters:
            yield f"| `{each.name}` | {_type(each)} | `{each.default}` | {_cell(each.help)} |"
    yield from ("", "| column | type | |", "|---|---|---|")
    for column in analysis.columns:
        yield f"| `{column.name}` | `{column.type}` | {_cell(column.help)} |"


def _type(parameter: Parameter) -> str:
    """The type of a parameter, or the values that it takes."""
    allowed = " ".join(f"`{each}`" for each in parameter.choices)
    return f"`{parameter.type}`: {allowed}" if allowed else f"`{parameter.type}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
