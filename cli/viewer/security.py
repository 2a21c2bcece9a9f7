"""Which requests the explorer answers, and what a browser may do with its pages.

The explorer listens on this machine only, but any web page in the browser can send requests to a
local port. Such a page does not know the token, and a host name that it points here (DNS rebinding)
is not one of the two accepted.
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
# Scripts and styles only from the explorer's own files, nothing from other hosts, no frames.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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
    """Context manager that yields a file that forwards to an address, readable by this user only.

    Every user of the machine can read command lines (`ps`), so the browser is started with this
    file and not with the token. A one-time token would only make it a race.
    """
    # Browsers installed as snaps have their own /tmp, and can read only visible files at home.
    parent = Path.home() if _SNAPS.is_dir() and os.access(Path.home(), os.W_OK) else None
    with TemporaryDirectory(
        prefix="attnbank-explore-", dir=parent
    ) as folder:  # created with mode 0700
        file_path = Path(folder) / "explorer.html"
        number = os.open(file_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(_FORWARD.format(address=escape(address)))
        yield file_path


class Guard:
    """Middleware that checks every request: host, origin, method and token, in this order."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset({f"{HOST}:{port}", f"localhost:{port}"})
        self._cookie = f"attnbank-{port}"  # cookies are shared by all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket; the explorer has none
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
        return self._refuse_without_token(scope, headers)

    def _refuse_without_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Return a refusal if neither the address nor the cookie has the token; None if the cookie
        does.

        An address with the token sets the cookie and redirects to itself without the token,
        so that no bookmark contains it.
        """
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if tokens:
            # Users may paste the whole address into the form.
            token = tokens[0].rpartition("token=")[2]
            if not self._is_token(token):
                return self._token_form(scope, query)
            other_parameters = urlencode(
                [(name, value) for name, value in query if name != "token"]
            )
            # Exactly one slash: a path that starts with two would be another host.
            path = "/" + scope["raw_path"].decode("latin-1").split("?")[0].lstrip("/\\")
            path += f"?{other_parameters}" if other_parameters else ""
            # Coming from the file of `launch_file`, browsers send no strict cookie to the target of
            # a redirect; so answer with a page of this origin that forwards to it.
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
        # http.cookies would stop at the first cookie of another program that it cannot parse.
        pairs = ";".join(headers.getlist("cookie")).split(";")
        cookie = dict(pair.strip().partition("=")[::2] for pair in pairs).get(self._cookie)
        if cookie is not None and self._is_token(cookie):
            return None
        return self._token_form(scope, query)

    def _token_form(self, scope: Scope, query: Sequence[tuple[str, str]]) -> Response:
        """The page that asks for the token and then goes on to the requested address."""
        if scope["raw_path"].startswith(b"/static/"):
            return _text_response(403, _NO_TOKEN)
        path = "/" + scope["raw_path"].decode("latin-1").split("?")[0].lstrip("/\\")
        fields = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in query
            if name != "token"
        )
        return HTMLResponse(_QUESTION.format(path=escape(path), fields=fields, hint=_NO_TOKEN), 403)

    def _is_token(self, token: str) -> bool:
        # In constant time: its duration must not tell how much of a guess was right.
        return hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self._token)


_QUESTION = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The explorer asks for its token</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"></head>
<body><h1>The explorer asks for its token</h1>
<p>{hint} Paste that address here, to go on to the page that you bookmarked.</p>
<form action="{path}">{fields}<label>Address or token <input name="token" size="60"
autocomplete="off" required></label> <button>Go on</button></form></body></html>
"""
_NO_TOKEN = "Open the address that attnbank explore printed; it contains a token."


def _text_response(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{text}\n", status, headers)
