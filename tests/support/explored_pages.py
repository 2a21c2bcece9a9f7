"""A page of the explorer as tests read it."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlencode

from starlette.testclient import TestClient

from attnbank.sql.ids import row_id

PORT = 8417
TOKEN = "the-token"
HOST = f"http://127.0.0.1:{PORT}"


def story(number: int) -> int:
    """The id of a sentence of the stories, which are the third corpus."""
    return row_id(3, number)


def seen(client: TestClient, path: str, /, **values: object) -> Read:
    """A page of the explorer, which answers."""
    answer = client.get(f"{path}?{urlencode(values)}" if values else path)
    assert answer.status_code == 200, answer.text
    return Read(answer.text)


class Read(HTMLParser):
    """A page as what it has: the rows of its tables, its links, its elements, its marked words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.marked: list[str] = []
        self._cell = False
        self._marks = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._cell = True
        if tag == "mark":
            self.marked.append("")
            self._marks = True
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._cell = False
        if tag == "mark":
            self._marks = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._cell:
            self.rows[-1][-1] += data
        if self._marks:
            self.marked[-1] += data
