"""Checks that no page of the built site fetches anything from other places when it is read.

`python docs/offline.py site` prints what would be fetched, and fails if there is anything. Links
are allowed, since nothing is fetched until a reader follows them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

_ELSEWHERE = re.compile(r"(https?:)?//", re.IGNORECASE)
_IN_STYLES = re.compile(r"(?:url\(\s*|@import\s+)['\"]?((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


class _Page(HTMLParser):
    """Collects what a browser fetches by itself: scripts, styles, pictures, frames, fonts."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag makes a browser fetch."""
        for name, value in attrs:
            if value is None or tag == "a" or (tag == "link" and ("rel", "canonical") in attrs):
                continue
            if name in ("src", "srcset", "poster", "data") or (name == "href" and tag != "base"):
                self.fetched += [value] if _ELSEWHERE.match(value) else []
            if name == "style":
                self.fetched += _IN_STYLES.findall(value)


def fetched(site: Path) -> Iterator[tuple[Path, str]]:
    """Each file of the site that would fetch something from another place, and the address."""
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            text = path.read_text(encoding="utf-8")
            page = _Page()
            page.feed(text)
            for style in re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL | re.IGNORECASE):
                page.fetched += _IN_STYLES.findall(style)
            for each in page.fetched:
                yield path.relative_to(site), each
        elif path.suffix in (".css", ".svg"):
            for each in _IN_STYLES.findall(path.read_text(encoding="utf-8")):
                yield path.relative_to(site), each


def main() -> None:
    """Print what would be fetched, and exit with status 1 if there is anything."""
    found = [f"{path}: {address}" for path, address in fetched(Path(sys.argv[1]))]
    if found:
        sys.exit("\n".join(["These pages fetch something from elsewhere:", *found]))


if __name__ == "__main__":
    main()
