"""The addresses of the explorer, and how each is answered: in a thread, within limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from attnbank.cli.endings import explained
from attnbank.cli.explorer import colours
from attnbank.cli.explorer.desk import Desk, hearing
from attnbank.cli.explorer.security import Guard
from attnbank.cli.explorer.views import (
    compare,
    contents,
    figures,
    head,
    heads,
    sentence,
    sentences,
    statement,
)
from attnbank.cli.explorer.visit import Page, Picture, Visit, link
from attnbank.sql.errors import BankError, CallError

_HERE = Path(__file__).resolve().parent
_AT_ONCE = 12
"""Requests that are answered at once; the others wait."""
_STATEMENTS_AT_ONCE = 2
"""Statements of people that run at once, each in a process with memory of its own."""

View = Callable[[Visit], Page | Picture]
_VIEWS: dict[str, View] = {
    "/": heads.view,
    "/map": heads.view_map,
    "/head/{head}": head.view,
    "/sentences": sentences.view,
    "/sentence": sentence.view,
    "/compare": compare.view,
    "/tables": figures.index,
    "/tables/{name}": figures.view,
    "/pictures/{name}": figures.picture,
    "/sql": statement.view,
    "/bank": contents.view,
}
_NAV = (
    ("/", "Heads"),
    ("/map", "Map"),
    ("/sentences", "Sentences"),
    ("/compare", "Compare"),
    ("/tables", "Tables and figures"),
    ("/sql", "SQL"),
    ("/bank", "Bank"),
)
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def make_site(desk: Desk, token: str, port: int) -> Starlette:
    """The application: every page on the bank of a desk, for those who have the token."""
    site = Starlette(
        routes=[
            *(Route(path, _endpoint(view)) for path, view in _VIEWS.items()),
            Route("/static/{name}", _static),
        ],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={HTTPException: _not_found, Exception: _failed},
    )
    site.state.desk = desk
    site.state.limits = {
        "pages": anyio.CapacityLimiter(_AT_ONCE),
        "statements": anyio.CapacityLimiter(_STATEMENTS_AT_ONCE),
    }
    site.state.templates = _templates()
    return site


def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["link"] = link
    made.globals["nav"] = _NAV
    return made


def _endpoint(view: View) -> Callable[[Request], Awaitable[Response]]:
    """A view as what Starlette calls: it runs in a thread, and its errors become a page."""

    async def answer(request: Request) -> Response:
        kind = "statements" if view is statement.view else "pages"
        return await anyio.to_thread.run_sync(
            partial(_answer, view, request),
            limiter=request.app.state.limits[kind],
            abandon_on_cancel=True,
        )

    return answer


def _answer(view: View, request: Request) -> Response:
    desk: Desk = request.app.state.desk
    given = {name: value for name, value in request.query_params.items() if value}
    with hearing() as told:
        try:
            with desk.open() as opened:
                visit = Visit(desk, opened, given, request.path_params, request.url.path)
                made = view(visit)
        except Exception as error:
            made = _error_page(error)
    if isinstance(made, Picture):
        return Response(made.svg, media_type="image/svg+xml")
    return _html(request, made, told)


def _error_page(error: Exception) -> Page:
    fact, remedy, status = explained(error)
    code = 400 if isinstance(error, CallError) or status == 2 else 422
    code = 503 if isinstance(error, BankError) else code
    if fact.startswith("unexpected "):
        code = 500
    return Page("error.html", "Not answered", {"fact": fact, "remedy": remedy}, code)


def _html(request: Request, page: Page, told: list[str]) -> Response:
    templates: Environment = request.app.state.templates
    desk: Desk = request.app.state.desk
    text = templates.get_template(page.template).render(
        **page.shown,
        title=page.title,
        notes=told,
        bank_name=desk.path.name,
        path=request.url.path,
        kept_run=request.query_params.get("run", ""),
    )
    return HTMLResponse(text, page.status)


async def _static(request: Request) -> Response:
    """A file of the explorer's own; there are no others below this address."""
    name = request.path_params["name"]
    if name == "colours.css":
        return Response(colours.stylesheet(), media_type="text/css")
    own = {each.name: each for each in (_HERE / "static").iterdir() if each.suffix in _TYPES}
    if name not in own:
        raise HTTPException(404)
    return Response(own[name].read_bytes(), media_type=_TYPES[own[name].suffix])


async def _not_found(request: Request, error: Exception) -> Response:
    page = Page("error.html", "Not here", {"fact": "There is no such page.", "remedy": ""}, 404)
    return _html(request, page, [])


async def _failed(request: Request, error: Exception) -> Response:
    return _html(request, _error_page(error), [])


__all__: list[Any] = ["make_site"]
