"""A visitor of the explorer: its pages as a browser draws them, its records and files by HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import browsers
import httpx
from counting_host import served

from attnbank.cli.viewer.request import BankCache
from attnbank.cli.viewer.site import make_site
from attnbank.sql.ids import row_id

PORT = 8417
TOKEN = "the-token"
HOST = f"http://127.0.0.1:{PORT}"
_FOLLOW = """(address) => {
  delete document.querySelector("main").dataset.address;
  const link = document.createElement("a");
  link.href = address;
  document.body.append(link);
  link.click();
  link.remove();
}"""


class Client(httpx.Client):
    """Somebody who has the token of an explorer."""

    _page: Any = None

    @property
    def page(self) -> Any:
        """A page of a browser that has the token, too."""
        if self._page is None:
            self._page = browsers.chromium().new_context().new_page()
            self._page.goto(f"{self.base_url}/bank?token={TOKEN}")
            browsers.filled(self._page)
        return self._page


@contextmanager
def visited(cache: BankCache) -> Iterator[Client]:
    """Somebody with the token of an explorer of a bank."""
    with (
        served(lambda port: make_site(cache, TOKEN, port)) as address,
        # What the first request imports can take minutes on a busy machine.
        Client(base_url=address, timeout=300) as client,
    ):
        client.cookies.set(f"attnbank-{address.split(':')[-1]}", TOKEN)
        yield client
        if client._page is not None:
            client._page.context.close()


@contextmanager
def exploring(bank: Path, seconds: float = 30.0, model: str | None = None) -> Iterator[Client]:
    """Somebody with the token of an explorer of the bank at a path."""
    cache = BankCache(bank, seconds, 1_000_000_000, model)
    with visited(cache) as client:
        yield client
    cache.close()


def story(number: int) -> int:
    """The id of a sentence of the stories, which are the third corpus."""
    return row_id(3, number)


def seen(client: Client, path: str, /, **values: object) -> Read:
    """A page of the explorer as a browser draws it, without a fault."""
    page = drawn(client, path, **values)
    assert not page.fault, page.fault
    return page


def drawn(client: Client, path: str, /, **values: object) -> Read:
    """A page of the explorer as a browser draws it; `fault` is what it says to be wrong.

    It is reached by a link from the page before, if there is one: see `anew`.
    """
    client.page.evaluate(_FOLLOW, _address(path, values))
    return _read(client)


def anew(client: Client, path: str, /, **values: object) -> Read:
    """The same, as a page that the browser loads."""
    client.page.goto(f"{str(client.base_url).rstrip('/')}{_address(path, values)}")
    return _read(client)


def _address(path: str, values: dict[str, object]) -> str:
    return f"{path}?{urlencode(values)}" if values else path


def _read(client: Client) -> Read:
    page = browsers.filled(client.page)
    read = Read(page.content())
    read.fault = " ".join(page.locator('[role="alert"] p').all_inner_texts())
    return read


def taken(client: Client, button: str) -> bytes:
    """The file that a button of the page that was read last gives."""
    with client.page.expect_download() as waiting:
        client.page.get_by_text(button, exact=True).click()
    return Path(waiting.value.path()).read_bytes()


class Read(HTMLParser):
    """A page as what it has: the rows of its tables, its links, its elements, its marked words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.marked: list[str] = []
        self.fault = ""
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


def hit_rows(page: Read) -> list[list[str]]:
    """The rows of a concordance, without the grid of heads beside it."""
    last = next((at for at, row in enumerate(page.rows) if row[0] == "Layer"), None)
    return page.rows[1:last]
