"""The pages in browsers of some years ago, and what they say in one that is too old."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import browsers
import pytest
from explored_pages import TOKEN, Client, story

pytestmark = pytest.mark.slow

# What Firefox 104, Chrome 97 and Safari 15.4 lack.
MISSING = """
delete Map.groupBy;
delete Object.groupBy;
delete Array.fromAsync;
delete URLSearchParams.prototype.size;
for (const name of ["toSorted", "toReversed", "toSpliced", "with"]) delete Array.prototype[name];
"""
PATHS = (
    "/", "/map", "/?by=gain", "/head/1-1?relation=obj", "/compare", "/model",
    "/sentences?pattern=pattern { V -[obj]-> O }", f"/sentence?sentence={story(2)}&head=1-1",
    "/tables", "/tables/best_head?min_count=2",
)  # fmt: skip


@pytest.fixture
def page(client: Client) -> Iterator[Any]:
    """A page of a browser of its own, with the token."""
    with browsers.launched() as browser:
        page = browser.new_context().new_page()
        page.goto(f"{client.base_url}/bank?token={TOKEN}")
        yield page


def test_every_view_in_a_browser_of_2022(client: Client, page: Any) -> None:
    page.add_init_script(MISSING)
    for path in PATHS:
        page.goto(f"{str(client.base_url).rstrip('/')}{path}")
        browsers.filled(page)
        assert not page.locator('[role="alert"] p').all_inner_texts(), path
    assert page.evaluate("Map.groupBy === undefined")


def test_an_older_one_is_told_so(client: Client, page: Any) -> None:
    page.add_init_script("delete Array.prototype.findLastIndex; delete Object.hasOwn")
    page.goto(str(client.base_url))
    page.wait_for_selector('body > [role="alert"]')
    assert "This browser is too old" in page.locator('body > [role="alert"]').inner_text()
