"""Reads a report for tests: its ids, headings, tables, links and tags."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "hr", "img", "input", "base"}


class Reader(HTMLParser):
    """Parses a page: its ids in order, the tables of each article, links, and every tag."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self.tables: dict[str, list[list[list[str]]]] = {}
        self.captions: list[str] = []
        self.downloads: dict[str, dict[str, str]] = {}
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self._article = ""
        self._text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in found.items()]
        if tag not in _VOID:
            self.open.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "article":
            self._article = found["id"]
            self.tables[self._article] = []
            self.downloads[self._article] = {}
        if tag == "table":
            self.tables[self._article].append([])
        if tag == "tr":
            self.tables[self._article][-1].append([])
        if tag in ("td", "th", "caption", "h1", "h2", "h3", "h4"):
            self._text = []
        if tag == "a" and "download" in found:
            self.downloads[self._article][found["download"]] = found["href"]

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open.pop() == tag
        if self._text is None or tag not in ("td", "th", "caption", "h1", "h2", "h3", "h4"):
            return
        text = "".join(self._text)
        self._text = None
        if tag in ("td", "th"):
            self.tables[self._article][-1][-1].append(text)
        elif tag == "caption":
            self.captions.append(text)
        else:
            self.headings.append((int(tag[1]), text))

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)


def read(html: str) -> Reader:
    """Parse a page; asserts that its tags are closed in order."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader
