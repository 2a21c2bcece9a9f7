"""What is done as mkdocs builds the site.

The pages of the analyses get their places in the navigation, so that a new one needs no line in
mkdocs.yml; and the index of the search is written as a script too, which a page that is opened from
a folder may read (assets/worker-from-folder.js is the other half of that).
"""

from __future__ import annotations

from pathlib import Path
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


def on_post_build(config: Any) -> None:
    """Write the index of the search once more, as the script that the theme asks for."""
    folder = Path(config["site_dir"], "search")
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")


def _sections() -> list[dict[str, list[dict[str, str]]]]:
    return [
        {title: [{each.name: f"{FOLDER}{each.name}.md"} for each in those]}
        for title, those in by_section().items()
    ]
