"""What mkdocs asks for as it builds the site: the pages of the analyses in the navigation.

So a new analysis needs no line in mkdocs.yml.
"""

from __future__ import annotations

from typing import Any

from attnbank.cli.commands.ask.query import by_section

FOLDER = "analyses/"


def on_config(config: Any) -> Any:
    """Put a page for each analysis, by section, in the place of the folder in `nav`."""
    for entry in config["nav"]:
        for title, value in entry.items():
            if value == FOLDER:
                entry[title] = [f"{FOLDER}index.md", *_sections()]
    return config


def _sections() -> list[dict[str, list[dict[str, str]]]]:
    return [
        {title: [{each.name: f"{FOLDER}{each.name}.md"} for each in those]}
        for title, those in by_section().items()
    ]
