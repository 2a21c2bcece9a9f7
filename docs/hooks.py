"""Hooks that mkdocs calls while it builds the site.

They put the pages of the analyses into the navigation, so that a new one needs no line in
mkdocs.yml. And they write the search index as a script too, because a page that is opened from a
folder may read a script but not a JSON file (assets/worker-from-folder.js is the other half).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attnbank.cli.commands.ask.query import by_section

FOLDER = "analyses/"


def on_config(config: Any) -> Any:
    """Replace the folder of the analyses in `nav` by their pages, grouped by section."""
    for entry in config["nav"]:
        for title, value in entry.items():
            if value == FOLDER:
                entry[title] = [f"{FOLDER}index.md", *_sections()]
    return config


def on_post_build(config: Any) -> None:
    """Write the search index once more, as the script that the theme looks for."""
    folder = Path(config["site_dir"], "search")
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")


def _sections() -> list[dict[str, list[dict[str, str]]]]:
    return [
        {title: [{each.name: f"{FOLDER}{each.name}.md"} for each in those]}
        for title, those in by_section().items()
    ]
