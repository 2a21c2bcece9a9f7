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
from attnbank.cli.explorer import (
    colours,
    head,
    heads,
    record_pages,
    sentence_pages,
    table_pages,
    typed,
)
from attnbank.cli.explorer.bank_cache import BankCache, collecting_warnings
from attnbank.cli.explorer.request import RequestContext, Visit, link
from attnbank.cli.explorer.security import HOST, Guard, launch_file
from attnbank.cli.safe_echo import safe_echo
from attnbank.cli.viewer import records
from attnbank.queries.pictures import sentence
from attnbank.queries.table_formats import csv_text
from attnbank.sql.errors import AttnbankError, BankError, CallError
from attnbank.sql.names import DIRECTIONS

_HERE = Path(__file__).resolve().parent
_MODULES = _HERE.parent / "viewer" / "page"
# Requests answered concurrently; others wait.
_AT_ONCE = 12
# SQL statements that run concurrently, each in its own process with its own memory limit.
_STATEMENTS_AT_ONCE = 2

# The most requests, and statements, in the queue; further ones get status 503.
_MOST_WAITING, _MOST_STATEMENTS_WAITING = 60, 4
_BUSY = {
    "title": "Busy",
    "error": {
        "fact": "The explorer is busy: too many requests are waiting.",
        "remedy": "Reload this page in a minute.",
    },
}

# Seconds that requests get to end when the explorer is closed.
_PATIENCE = 2

# Fills in the variables of its template, even if it then raises; or returns an SVG.
View = Callable[[RequestContext, dict[str, Any]], bytes | None]
_VIEWS: dict[str, tuple[View, str, str]] = {
    "/": (heads.atlas_view, "atlas.html", "Atlas of heads"),
    "/heads": (heads.heads_view, "heads.html", "Heads"),
    "/map": (heads.view_map, "map.html", "Map of the heads"),
    "/overview": (heads.overview, "overview.html", "Overview"),
    "/head/{head}": (head.head_view, "head.html", "Head"),
    "/head/{head}/examples": (head.examples, "examples.html", "Examples"),
    "/model": (sentence_pages.model_view, "model.html", "All heads on one sentence"),
    "/typed": (typed.typed_view, "typed.html", "A sentence of your own"),
    "/sentences": (sentence_pages.request_view, "sentences.html", "Sentences"),
    "/sentence": (sentence_pages.sentence_view, "sentence.html", "Sentence"),
    "/compare": (heads.compare, "compare.html", "Compare two runs"),
    "/tables": (table_pages.index, "tables.html", "Tables and figures"),
    "/tables/{name}": (table_pages.analysis, "analysis.html", "Analysis"),
    "/pictures/{name}": (table_pages.picture, "base.html", "Picture"),
    "/sql": (table_pages.sql_view, "statement.html", "SQL"),
    "/bank": (table_pages.contents, "contents.html", "Contents of the bank"),
}
NAV = (
    ("/", "Atlas"),
    ("/heads", "Heads"),
    ("/map", "Map"),
    ("/overview", "Overview"),
    ("/sentences", "Sentences"),
    ("/compare", "Compare"),
    ("/tables", "Tables and figures"),
    ("/sql", "SQL"),
    ("/bank", "Bank"),
)
# Filters of the templates, besides Jinja's own; published pages have the same in JavaScript.
FILTERS: dict[str, Callable[..., str]] = {
    "thousands": lambda number: f"{number:,}",
    "fixed": lambda number, decimals: f"{number:.{decimals}f}",
    "sentence": lambda text: text[:1].upper() + text[1:],
    "unquoted": lambda text: text.strip("'"),
    "start": lambda text, most: text[:most],
    "begins": lambda text, start: "1" if text.startswith(start) else "",
}
_TYPES = {
    ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png",
    ".pdf": "application/pdf", ".csv": "text/csv; charset=utf-8",
}  # fmt: skip


def make_site(cache: BankCache, token: str, port: int) -> Starlette:
    """Make the application with all pages, for users who have the token."""
    site = Starlette(
        routes=[
            *(
                Route(
                    path,
                    _endpoint(
                        partial(_render_view, *view),
                        limits="sql" if view[0] is table_pages.sql_view else "pages",
                    ),
                )
                for path, view in _VIEWS.items()
            ),
            *(
                Route(path, _endpoint(partial(_render_record, record)))
                for path, record in _RECORDS.items()
            ),
            Route("/static/{name}", _static),
        ],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={HTTPException: _not_found, Exception: _failed},
    )
    site.state.cache = cache
    site.state.limits = {
        "pages": (anyio.CapacityLimiter(_AT_ONCE), _MOST_WAITING),
        "sql": (anyio.CapacityLimiter(_STATEMENTS_AT_ONCE), _MOST_STATEMENTS_WAITING),
    }
    site.state.templates = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    site.state.templates.filters |= FILTERS
    site.state.templates.globals |= {
        "layout": "base.html", "is_live": True,
        "link": link, "nav": NAV, "directions": DIRECTIONS, "step": colours.step,
        "bank_name": cache.path.name,
    }  # fmt: skip
    return site


def _endpoint(
    render: Callable[[Request, Visit], Response], limits: str = "pages"
) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint of a function that runs in a thread, where it may wait for a slot."""

    async def answer(request: Request) -> Response:
        limiter, most = request.app.state.limits[limits]
        if limiter.statistics().tasks_waiting >= most:
            return _html(request, "base.html", _BUSY, 503)
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


def _render_view(view: View, template: str, title: str, request: Request, visit: Visit) -> Response:
    if not visit.is_wanted():
        return Response(status_code=499)
    cache: BankCache = request.app.state.cache
    parameters = {name: value for name, value in request.query_params.items() if value}
    file_format = parameters.pop("as", None)
    with collecting_warnings() as notes:
        try:
            with cache.open() as handle, handle.bank.backend.answering():
                context = RequestContext(
                    cache, handle, parameters, request.path_params, request.url.path, visit=visit
                )
                variables: dict[str, Any] = {}
                status = 200
                try:
                    picture = view(context, variables)
                    if picture is not None:
                        return Response(picture, media_type="image/svg+xml")
                except AttnbankError as error:
                    # A view that has filled in its form shows the error below it.
                    if not variables or isinstance(error, BankError):
                        raise
                    variables["error"], status = error, 400
                rows = variables.pop("rows", None)
                figure: Callable[[str], bytes] | None = variables.pop("figure", None)
                if file_format == "csv" and rows is not None:
                    return _file(csv_text(rows).encode(), request.url.path, "csv")
                if file_format in _PICTURES and figure is not None:
                    return _file(figure(f".{file_format}"), request.url.path, file_format)
                variables |= {
                    "permalink": _permalink(request.url.path, parameters, variables),
                    "pictures": []
                    if figure is None or status != 200
                    else [
                        (
                            file_type.upper(),
                            link(request.url.path, **parameters, **{"as": file_type}),
                        )
                        for file_type in _PICTURES
                    ],
                    "has_rows": rows is not None,
                    "rows_address": link(request.url.path, **parameters, **{"as": "csv"}),
                }
                # `runs` and `relations` are functions: only templates with their menus call them.
                common = {
                    "title": title,
                    "given": parameters,
                    "run": context.run_name,
                    "notes": notes,
                    "runs": context.run_choices,
                    "relations": context.relations,
                }
                return _html(request, template, common | variables, status)
        except Exception as error:
            return _error_page(request, error, notes)


# The records of cli/viewer/records.py, by their addresses.
_RECORDS: dict[str, Callable[[RequestContext], Any]] = {
    "/bank.json": record_pages.bank,
    "/analyses.json": lambda context: records.catalogue(),
    "/answers/{run}/{name}.json": record_pages.answer,
    "/profiles/{run}.json": record_pages.profile,
    "/examples/{run}/{head}.json": record_pages.examples,
    "/sentences/{run}/{sentence}.json": record_pages.sentence,
    "/scores/{run}.json": record_pages.scores,
}


def _render_record(
    record: Callable[[RequestContext], Any], request: Request, visit: Visit
) -> Response:
    if not visit.is_wanted():
        return Response(status_code=499)
    cache: BankCache = request.app.state.cache
    try:
        with cache.open() as handle, handle.bank.backend.answering():
            context = RequestContext(
                cache, handle, request.query_params, request.path_params, request.url.path,
                visit=visit,
            )  # fmt: skip
            return _json(record(context))
    except Exception as error:
        fact, remedy, status = _fault(request, error)
        return _json({"error": {"fact": fact, "remedy": remedy}}, status)


def _json(value: Any, status: int = 200) -> Response:
    return Response(records.json_text(value), status, media_type="application/json")


_PICTURES = ("svg", "pdf", "png")
_OF_ONE_RUN = ("/heads", "/map", "/overview", "/sentence", "/model")


def _permalink(
    path: str, parameters: Mapping[str, str], variables: Mapping[str, Any]
) -> str | None:
    """The address with the run that was read, which later shows the same even if the default
    changes.
    """
    answered = variables.get("answered") or (variables["grid"].run if "grid" in variables else None)
    is_of_run = path in _OF_ONE_RUN or path.startswith("/head/")
    return link(path, **{**parameters, "run": answered}) if answered and is_of_run else None


def _file(content: bytes, path: str, kind: str) -> Response:
    """A response that the browser saves as a file."""
    name = "_".join(filter(str.isidentifier, path.split("/"))) or "heads"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(content, media_type=_TYPES[f".{kind}"], headers=headers)


def _html(request: Request, template: str, variables: dict[str, Any], status: int) -> Response:
    text = request.app.state.templates.get_template(template).render(
        variables, path=request.url.path, kept_run=request.query_params.get("run", "")
    )
    return HTMLResponse(text, status)


def _fault(request: Request, error: Exception) -> tuple[str, str, int]:
    """The fact and the remedy of an error, and the status of its response."""
    fact, remedy, exit_status = error_message(error, request.app.state.cache.path)
    status = 400 if exit_status == 2 else 422
    if fact.startswith("unexpected "):
        status = 500
    elif isinstance(error, BankError):
        status = 503
    return fact, remedy, status


def _error_page(request: Request, error: Exception, notes: Sequence[str] = ()) -> Response:
    fact, remedy, status = _fault(request, error)
    variables = {"title": "Error", "error": {"fact": fact, "remedy": remedy}, "notes": notes}
    return _html(request, "base.html", variables, status)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "colours.css":
        return Response(colours.stylesheet(), media_type="text/css")
    if name == "hover.js":
        return Response(sentence.hover_script(), media_type=_TYPES[".js"])
    static_files = {
        file.name: file
        for folder in (_HERE / "static", _MODULES)
        for file in folder.iterdir()
        if file.suffix in _TYPES
    }
    if name not in static_files:
        raise HTTPException(404)
    return Response(static_files[name].read_bytes(), media_type=_TYPES[static_files[name].suffix])


async def _not_found(request: Request, error: Exception) -> Response:
    variables = {"title": "Page not found", "error": {"fact": "There is no such page."}}
    return _html(request, "base.html", variables, 404)


async def _failed(request: Request, error: Exception) -> Response:
    return _error_page(request, error)


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
