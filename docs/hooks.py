"""Hooks that mkdocs calls while it builds the site.

They put the pages of the analyses into the navigation, so that a new one needs no line in
mkdocs.yml. In the repository, where the generated pages do not exist, pages link to what those are
made from; here these links get the generated pages for targets. And the search index is written as
a script too, because a page that is opened from a folder may read a script but not a JSON file
(assets/worker-from-folder.js is the other half).
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from attnbank.sql.registry import analyses_by_section

FOLDER = "analyses/"
_MADE_FROM = {
    "cli/commands": "commands.md",
    "ingest/corpora/faults.toml": "faults.md",
    "sql/analyses": f"{FOLDER}index.md",
    "sql/schema": "schema.md",
}
"""The generated page of a file or folder of the repository."""


def on_config(config: Any) -> Any:
    """Replace the folder of the analyses in `nav` by their pages, grouped by section."""
    for entry in config["nav"]:
        for title, value in entry.items():
            if value == FOLDER:
                entry[title] = [f"{FOLDER}index.md", *_sections()]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to what the generated pages are made from lead to those pages."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")
    markdown = re.sub(
        r"^\[[^\]]*\]\(\.\./README\.md#install\)$", lambda _: _install(), markdown, flags=re.M
    )

    def relinked(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        made = _MADE_FROM.get(target)
        if made is None and target.startswith("sql/analyses/"):
            made = f"{FOLDER}{posixpath.basename(target).removesuffix('.sql')}.md"
        return link[0] if made is None else f"]({posixpath.relpath(f'docs/{made}', folder)})"

    return re.sub(r"\]\(([^)\s]+)\)", relinked, markdown)


def on_post_build(config: Any) -> None:
    """Write the search index once more, as the script that the theme looks for."""
    folder = Path(config["site_dir"], "search")
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")


def _install() -> str:
    """What the README says under Install."""
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    return readme.split("\n## Install\n")[1].split("\n## ")[0].strip()


def _sections() -> list[dict[str, list[dict[str, str]]]]:
    return [
        {title: [{each.name: f"{FOLDER}{each.name}.md"} for each in those]}
        for title, those in analyses_by_section().items()
    ]
