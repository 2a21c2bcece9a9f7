"""Who is answered, and what a browser may do with the answer.

The explorer listens on this machine alone, but so do the browser's other pages: a page of anyone
can send requests to a local port. Such a page cannot know the token, and a name that it makes point
here (DNS rebinding) is neither of the two that are answered.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
# No script and no style but the explorer's own files, nothing from elsewhere, in no frame.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_METHODS = ("GET", "HEAD")


_SNAPS = Path("/snap/bin")
_FORWARD = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Open the explorer</title>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}"></head>
<body><p><a href="{address}">Open the explorer</a></p></body></html>
"""


@contextmanager
def launch_file(address: str) -> Iterator[Path]:
    """Context manager that yields a file that forwards to an address, readable by this user alone.

    Every user of the machine can read a command line (`ps`), so the browser is started with this
    file and not with the token. A token for one request would be a race with whoever watches.
    """
    # Browsers that are snaps have a /tmp of their own, and read only what is not hidden at home.
    parent = Path.home() if _SNAPS.is_dir() and os.access(Path.home(), os.W_OK) else None
    with TemporaryDirectory(prefix="attnbank-explore-", dir=parent) as folder:  # its mode is 0700
        file_path = Path(folder) / "explorer.html"
        number = os.open(file_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(_FORWARD.format(address=escape(address)))
        yield file_path


class Guard:
    """The door before every address: host, origin, method and token, in this order."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset({f"{HOST}:{port}", f"localhost:{port}"})
        self._cookie = f"attnbank-{port}"  # browsers give the cookies of one port to all others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or say why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket, which nothing here has
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refusal(scope)
        await (self._app if refused is None else refused)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = [name.lower() for name in headers.getlist("host")]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return _text_response(421, "This server answers only to 127.0.0.1 and localhost.")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in self._hosts}:
            return _text_response(403, "Requests from other pages are not allowed.")
        if scope["method"] not in _METHODS:
            return _text_response(405, "Only GET is allowed.", {"Allow": ", ".join(_METHODS)})
        return self._without_token(scope, headers)

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        """A refusal where neither the address nor the cookie has the token.

        An address with it gives the cookie, and goes on without it: no bookmark has the token.
        """
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if tokens:
            # Who was asked for it may have pasted the whole address.
            token = tokens[0].rpartition("token=")[2]
            if not self._is_right(token):
                return self._question(scope, query)
            other_parameters = urlencode(
                [(name, value) for name, value in query if name != "token"]
            )
            # One slash: two would name another host.
            path = "/" + scope["raw_path"].decode("latin-1").split("?")[0].lstrip("/\\")
            path += f"?{other_parameters}" if other_parameters else ""
            # A browser that comes from a file would not bring the strict cookie where it is
            # redirected to; the page of this address sends it there with it.
            comes_from_file = headers.get("sec-fetch-site") == "cross-site"
            answer: Response = (
                HTMLResponse(_FORWARD.format(address=escape(path)))
                if comes_from_file
                else RedirectResponse(path, 303)
            )
            answer.set_cookie(
                self._cookie, self._token.decode(), path="/", httponly=True, samesite="strict"
            )
            return answer
        # Not by http.cookies, which stops at the first cookie of others that it cannot read.
        pairs = ";".join(headers.getlist("cookie")).split(";")
        cookie = dict(pair.strip().partition("=")[::2] for pair in pairs).get(self._cookie)
        if cookie is not None and self._is_right(cookie):
            return None
        return self._question(scope, query)

    def _question(self, scope: Scope, query: Sequence[tuple[str, str]]) -> Response:
        """The page that asks for the token, and goes on to the address that was kept."""
        if scope["raw_path"].startswith(b"/static/"):
            return _text_response(403, _NO_TOKEN)
        path = "/" + scope["raw_path"].decode("latin-1").split("?")[0].lstrip("/\\")
        fields = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in query
            if name != "token"
        )
        return HTMLResponse(_QUESTION.format(path=escape(path), fields=fields, hint=_NO_TOKEN), 403)

    def _is_right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self._token)


_QUESTION = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The explorer asks for its token</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"></head>
<body><h1>The explorer asks for its token</h1>
<p>{hint} Paste that address here, to go on to the page that you kept.</p>
<form action="{path}">{fields}<label>Address or token <input name="token" size="60" autocomplete="off"
required></label> <button>Go on</button></form></body></html>
"""
_NO_TOKEN = "Open the address that attnbank explore printed; it contains a token."


def _text_response(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{text}\n", status, headers)
