"""The explorer answers its own pages and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import AsyncMock

import pytest
from anyio.from_thread import start_blocking_portal
from explored_pages import HOST, PORT, TOKEN
from starlette.testclient import TestClient

from attnbank.cli.viewer.request import BankCache
from attnbank.cli.viewer.site import make_site


@pytest.fixture
def stranger(cache: BankCache) -> TestClient:
    """Somebody who has no token yet."""
    return TestClient(make_site(cache, TOKEN, PORT), base_url=HOST, follow_redirects=False)


@pytest.fixture
def client(cache: BankCache) -> Iterator[TestClient]:
    """Somebody who has the token."""
    with TestClient(make_site(cache, TOKEN, PORT), base_url=HOST) as made:
        assert made.get(f"/?token={TOKEN}").status_code == 200
        yield made


def test_without_the_token_there_is_nothing(stranger: TestClient) -> None:
    for path in (
        "/",
        "/sql?statement=select+1",
        "/static/style.css",
        "/nowhere",
        "/?token=",
        "/bank",
    ):
        answer = stranger.get(path)
        assert answer.status_code == 403, path
        assert "attnbank explore printed" in answer.text
        assert "set-cookie" not in answer.headers


def test_the_form_for_the_token_keeps_the_address(stranger: TestClient) -> None:
    answer = stranger.get("/tables/best_head?run=%22%3E%3Cb%3E&token=wrong")
    assert 'name="run" value="&quot;&gt;&lt;b&gt;"' in answer.text
    assert 'action="/tables/best_head"' in answer.text and "wrong" not in answer.text


def test_a_wrong_token_is_none(stranger: TestClient) -> None:
    for token in ("wrong", "the-token ", "the-toke", "é", "%ff%fe"):
        assert stranger.get(f"/?token={token}").status_code == 403, token
    stranger.cookies.set(f"attnbank-{PORT}", "wrong")
    assert stranger.get("/").status_code == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(stranger: TestClient) -> None:
    answer = stranger.get(f"/tables/best_head?run=1&token={TOKEN}&relation=obj")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/tables/best_head?run=1&relation=obj"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"attnbank-{PORT}={TOKEN};")
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
    stranger.cookies.clear()
    held = {"cookie": f'other={{"a": 1}}; attnbank-{PORT}={TOKEN}; x'}
    assert stranger.get("/bank", headers=held).status_code == 200


def test_who_comes_from_a_file_is_sent_on_by_a_page(stranger: TestClient) -> None:
    """A browser does not bring a strict cookie where another site has it redirected to."""
    path = "/tables/best_head?run=%22%3E%3Cb%3E&relation=obj"
    answer = stranger.get(f"{path}&token={TOKEN}", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert f'content="0; url={path.replace("&", "&amp;")}"' in answer.text
    assert TOKEN not in answer.text
    assert answer.headers["set-cookie"].startswith(f"attnbank-{PORT}={TOKEN};")
    assert stranger.get(path, headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_an_address_with_the_token_leads_nowhere_else(stranger: TestClient) -> None:
    for path in ("//example.org/", "/\\example.org/", "///example.org"):
        answer = stranger.get(f"{HOST}{path}?token={TOKEN}")
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/")
        assert not answer.headers["location"].startswith(("//", "/\\"))


def test_a_backslash_that_no_client_escaped_leads_nowhere_else(cache: BankCache) -> None:
    send = AsyncMock()
    headers = {"host": HOST.removeprefix("http://"), "sec-fetch-site": "cross-site"}
    scope = {
        "type": "http",
        "method": "GET",
        "raw_path": rb"/\example.org",
        "query_string": f"token={TOKEN}".encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    with start_blocking_portal() as portal:  # asyncio.run would mind the loop of a browser
        portal.call(make_site(cache, TOKEN, PORT), scope, AsyncMock(), send)
    assert b'content="0; url=/example.org"' in send.call_args[0][0]["body"]


def test_another_host_is_refused(client: TestClient) -> None:
    """A name that was made to point to this machine is not one of its two names."""
    hosts = ("example.org", f"example.org:{PORT}", "127.0.0.1", "127.0.0.1:1", "localhost:8418", "")
    for host in hosts:
        assert client.get("/bank", headers={"host": host}).status_code == 421, host


def test_both_names_of_this_machine_are_answered(client: TestClient) -> None:
    cookie = {"cookie": f"attnbank-{PORT}={TOKEN}"}
    assert client.get("/bank", headers={"host": f"localhost:{PORT}", **cookie}).status_code == 200
    assert client.get("/bank", headers={"host": f"127.0.0.1:{PORT}"}).status_code == 200


def test_another_origin_is_refused(client: TestClient) -> None:
    for origin in ("http://example.org", "null", f"https://127.0.0.1:{PORT}", ""):
        assert client.get("/bank", headers={"origin": origin}).status_code == 403, origin


def test_its_own_origin_is_answered(client: TestClient) -> None:
    assert client.get("/bank", headers={"origin": HOST}).status_code == 200


def test_everything_is_read(client: TestClient) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        answer = client.request(method, "/bank")
        assert answer.status_code == 405 and answer.headers["allow"] == "GET, HEAD", method
    assert client.head("/bank").status_code == 200


def test_every_answer_says_what_a_browser_may_do(client: TestClient) -> None:
    for path in ("/bank", "/nowhere", "/static/style.css", "/static/colours.css"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none';"), path
        assert "unsafe" not in policy and "http" not in policy
        assert "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_nothing_but_its_own_files_is_given(client: TestClient) -> None:
    assert client.get("/static/hover.js").status_code == 200
    for name in ("..%2Fapp.py", "%2e%2e/site.py", "style.css%00", "base.html", "%2e%2e"):
        assert client.get(f"/static/{name}").status_code == 404
