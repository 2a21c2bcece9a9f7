"""The servers: the explorer's, whose routes are each answered in a thread, and a publication's."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import uvicorn
from jinja2 import Environment, FileSystemLoader
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from attnbank.cli.exit_status import error_message
from attnbank.cli.safe_echo import safe_echo
from attnbank.cli.viewer import colours, endpoints, records
from attnbank.cli.viewer.request import BankCache, RequestContext, Visit
from attnbank.cli.viewer.security import HOST, Guard, launch_file
from attnbank.queries.pictures import sentence
from attnbank.sql.errors import BankError, CallError

_HERE = Path(__file__).resolve().parent
# Requests answered concurrently; others wait.
_AT_ONCE = 12
# SQL statements that run concurrently, each in its own process with its own memory limit.
_STATEMENTS_AT_ONCE = 2

# The most requests, and statements, in the queue; further ones get status 503.
_MOST_WAITING, _MOST_STATEMENTS_WAITING = 60, 4
_BUSY = {
    "fact": "The explorer is busy: too many requests are waiting.",
    "remedy": "Reload this page in a minute.",
}

# Seconds that requests get to end when the explorer is closed.
_PATIENCE = 2

# Views, whose pages are drawn in the browser by the modules of cli/viewer/page.
_VIEWS = (
    "/", "/map", "/head/{head}", "/head/{head}/examples", "/model", "/typed",
    "/sentences", "/sentence", "/compare", "/tables", "/tables/{name}", "/sql", "/bank",
)  # fmt: skip
NAV = (
    ("/", "Atlas"),
    ("/map", "Map"),
    ("/sentences", "Sentences"),
    ("/compare", "Compare"),
    ("/tables", "Tables and figures"),
    ("/sql", "SQL"),
    ("/bank", "Bank"),
)
_TYPES = {
    ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png",
    ".pdf": "application/pdf", ".csv": "text/csv; charset=utf-8", ".json": "application/json",
}  # fmt: skip


def make_site(cache: BankCache, token: str, port: int) -> Starlette:
    """Make the application with all pages, for users who have the token."""
    site = Starlette(
        routes=[
            *(Route(path, _view) for path in _VIEWS),
            *(
                Route(
                    path,
                    _endpoint(
                        partial(_render_record, record),
                        limits="sql" if record is endpoints.statement else "records",
                    ),
                )
                for path, record in _RECORDS.items()
            ),
            Route("/static/{name}", _static),
        ],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={HTTPException: _not_found, Exception: _failed},
    )
    site.state.cache = cache
    site.state.limits = {
        "records": (anyio.CapacityLimiter(_AT_ONCE), _MOST_WAITING),
        "sql": (anyio.CapacityLimiter(_STATEMENTS_AT_ONCE), _MOST_STATEMENTS_WAITING),
    }
    environment = Environment(loader=FileSystemLoader(_HERE / "templates"), autoescape=True)
    site.state.page = environment.get_template("explored.html")
    return site


def _endpoint(
    render: Callable[[Request, Visit], Response], limits: str = "records"
) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint of a function that runs in a thread, where it may wait for a slot."""

    async def answer(request: Request) -> Response:
        limiter, most = request.app.state.limits[limits]
        if limiter.statistics().tasks_waiting >= most:
            return _json({"error": _BUSY}, 503)
        visit = Visit()
        response = Response(status_code=499)  # the client has disconnected
        async with anyio.create_task_group() as group:
            group.start_soon(_watch, request, visit, group.cancel_scope)
            response = await anyio.to_thread.run_sync(
                partial(render, request, visit),
                limiter=limiter,
                abandon_on_cancel=True,
            )
            group.cancel_scope.cancel()
        return response

    return answer


async def _watch(request: Request, visit: Visit, scope: anyio.CancelScope) -> None:
    """Wait until the client disconnects, and stop work that only it waits for.

    Work that has begun keeps its slot of the limiter until it ends: slots limit the load.
    """
    while (await request.receive())["type"] != "http.disconnect":
        pass
    visit.leave()
    if not visit.has_begun:
        scope.cancel()


async def _view(request: Request) -> Response:
    return _page(request)


def _page(request: Request, error: Mapping[str, str] | None = None, status: int = 200) -> Response:
    """The page that all views share, or one that shows an error."""
    name = request.app.state.cache.path.name
    text = request.app.state.page.render(name=name, nav=NAV, error=error)
    return HTMLResponse(text, status)


# The records of cli/viewer/records.py, by their addresses.
_RECORDS: dict[str, Callable[[RequestContext], Any]] = {
    "/bank.json": endpoints.bank,
    "/analyses.json": lambda context: records.catalogue(),
    "/contents.json": endpoints.contents,
    "/answers/{run}/{name}.{kind}": endpoints.answer,
    "/profiles/{run}.json": endpoints.profile,
    "/behaviours/{run}.json": endpoints.behaviours,
    "/nearest/{run}.json": endpoints.nearest,
    "/rules/{run}/{mentions}.json": endpoints.rules,
    "/effects/{run}.json": endpoints.effects,
    "/maps/{run}.json": endpoints.heads_map,
    "/examples/{run}/{head}.json": endpoints.examples,
    "/examples/{run}/{head}/page.json": endpoints.example_page,
    "/strongest/{run}/{head}.json": endpoints.strongest,
    "/antecedents/{run}/{head}.json": endpoints.antecedents,
    "/changes/{run}/{other}.json": endpoints.changes,
    "/sentences/{run}/{head}.json": endpoints.sentences,
    "/scores/{run}.json": endpoints.scores,
    "/scores/{run}/best.json": endpoints.best_score,
    "/hits.json": endpoints.hits,
    "/concordance.json": endpoints.concordance,
    "/counts.json": endpoints.counts,
    "/shown.json": endpoints.shown,
    "/model.json": endpoints.model,
    "/typed.json": endpoints.typed,
    "/statement.json": endpoints.statement,
}


def _render_record(
    record: Callable[[RequestContext], Any], request: Request, visit: Visit
) -> Response:
    if not visit.is_wanted():
        return Response(status_code=499)
    cache: BankCache = request.app.state.cache
    try:
        with cache.open() as handle, handle.bank.backend.answering():
            parameters = {name: value for name, value in request.query_params.items() if value}
            context = RequestContext(cache, handle, parameters, request.path_params, visit)
            if (kind := request.path_params.get("kind", "json")) not in _KINDS:
                raise CallError(
                    f"There is no file .{kind[:20]}.", "Use .json, .csv, .svg, .pdf, .png."
                )
            content = _content(record, context, request.url.path)
        return _file(content, request, kind)
    except endpoints.UnansweredError as reason:
        return _json(reason.record)
    except Exception as error:
        fact, remedy, status = _fault(request, error)
        return _json({"error": {"fact": fact, "remedy": remedy}}, status)


def _content(record: Callable[[RequestContext], Any], context: RequestContext, path: str) -> bytes:
    """The record at an address, as a file; it is made once while the bank stays the same."""

    def make() -> bytes:
        value = record(context)
        return value if isinstance(value, bytes) else records.json_text(value).encode()

    if record is endpoints.statement:  # its rows are cached, for all pages of them
        return make()
    address = ("address", path, *sorted(context.parameters.items()))
    return context.handle.compute_once(address, make, len)


def _json(value: Any, status: int = 200) -> Response:
    return Response(records.json_text(value), status, media_type="application/json")


_KINDS = ("json", "csv", "svg", "pdf", "png")


def _file(content: bytes, request: Request, kind: str) -> Response:
    """A file; a browser saves it, unless it is a record or a picture that a page shows."""
    headers = {}
    if kind != "json" and "theme" not in request.query_params:
        name = request.path_params["name"]
        headers["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return Response(content, media_type=_TYPES[f".{kind}"], headers=headers)


def _fault(request: Request, error: Exception) -> tuple[str, str, int]:
    """The fact and the remedy of an error, and the status of its response."""
    fact, remedy, exit_status = error_message(error, request.app.state.cache.path)
    status = 400 if exit_status == 2 else 422
    if fact.startswith("unexpected "):
        status = 500
    elif isinstance(error, BankError):
        status = 503
    return fact, remedy, status


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "colours.css":
        return Response(colours.stylesheet(), media_type="text/css")
    if name == "hover.js":
        return Response(sentence.hover_script(), media_type=_TYPES[".js"])
    static_files = {
        file.name: file
        for folder in (_HERE / "static", _HERE / "page")
        for file in folder.iterdir()
        if file.suffix in _TYPES
    }
    if name not in static_files:
        raise HTTPException(404)
    return Response(static_files[name].read_bytes(), media_type=_TYPES[static_files[name].suffix])


async def _not_found(request: Request, error: Exception) -> Response:
    return _page(request, {"fact": "There is no such page."}, 404)


async def _failed(request: Request, error: Exception) -> Response:
    fact, remedy, status = _fault(request, error)
    return _page(request, {"fact": fact, "remedy": remedy}, status)


def serve(
    path: Path, port: int, seconds: float, memory: int, *, opens_browser: bool, model: str | None
) -> None:
    """Serve on a port (0: any) until interrupted. Raises BankError, and CallError for the port."""
    cache = BankCache(path, seconds, memory, model)
    try:
        with listen(port) as listener, ExitStack() as stack:
            number = listener.getsockname()[1]
            token = secrets.token_urlsafe(24)
            address = f"http://{HOST}:{number}/?token={token}"
            lines = [
                f"The explorer is at {address}",
                "Anyone with this address can read the bank, from this machine only.",
            ]
            _serve_until_interrupted(
                make_site(cache, token, number),
                listener,
                lines,
                stack.enter_context(launch_file(address)).as_uri() if opens_browser else None,
                date_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_PATIENCE,
                h11_max_incomplete_event_size=65_536,  # addresses hold whole SQL statements
            )
            safe_echo("The explorer is closed.")
    finally:
        cache.close()


def publication_app(folder: Path) -> Starlette:
    """An application that serves a folder, with range requests, to this machine's own names."""
    return Starlette(
        routes=[Mount("/", StaticFiles(directory=folder, html=True))],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


def serve_publication(folder: Path, port: int, *, opens_browser: bool) -> None:
    """Serve a publication to this machine, as its host would. Raises CallError for the port."""
    with listen(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}/"
        _serve_until_interrupted(
            publication_app(folder),
            listener,
            [f"The published bank is at {address}"],
            address if opens_browser else None,
            timeout_graceful_shutdown=1,
        )
        safe_echo("The server is closed.")


def _serve_until_interrupted(
    app: Starlette, listener: socket.socket, lines: Sequence[str], opened: str | None, **more: Any
) -> None:
    """Serve to a socket, after printing these lines and opening an address in the browser."""
    config = uvicorn.Config(
        app,
        log_level="critical",  # do not log requests cut off by closing
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
        **more,
    )
    # Uvicorn raises a signal again after its shutdown; make SIGTERM end here like Ctrl-C.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        # The socket already listens: early connections wait for the server to start.
        safe_echo(*lines, "Press Ctrl-C to stop.")
        if opened is not None:
            with suppress(webbrowser.Error):
                webbrowser.open(opened)
        uvicorn.Server(config).run(sockets=[listener])


def listen(port: int) -> socket.socket:
    """Listen on a port of this machine (0: any). Raises CallError."""
    try:
        return socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (while")[0].lower()
        raise CallError(
            f"Cannot listen on port {port}: {why}.",
            "Another explorer may be using it. Use --port 0 for any free port.",
        ) from error
