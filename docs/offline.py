"""Checks that no page of the built site fetches anything from elsewhere when it is read.

`python docs/offline.py site` prints what would be fetched, and fails where there is anything.
Links that a reader follows may lead anywhere.
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
    """Gathers what a browser fetches by itself: scripts, styles, pictures, frames, fonts."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of what the tag makes a browser fetch."""
        for name, value in attrs:
            if value is None or tag == "a" or (tag == "link" and ("rel", "canonical") in attrs):
                continue
            if name in ("src", "srcset", "poster", "data") or (name == "href" and tag != "base"):
                self.fetched += [value] if _ELSEWHERE.match(value) else []
            if name == "style":
                self.fetched += _IN_STYLES.findall(value)


def fetched(site: Path) -> Iterator[tuple[Path, str]]:
    """Every file of the site that would fetch something from elsewhere, and what."""
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
    """Print what would be fetched."""
    found = [f"{path}: {address}" for path, address in fetched(Path(sys.argv[1]))]
    if found:
        sys.exit("\n".join(["These pages fetch something from elsewhere:", *found]))


if __name__ == "__main__":
    main()
