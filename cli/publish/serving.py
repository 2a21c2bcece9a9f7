"""Serve a publication on this machine only, as its host would, for a look before uploading."""

from __future__ import annotations

import signal
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from attnbank.cli.explorer.security import HOST
from attnbank.cli.explorer.site import listen
from attnbank.cli.safe_echo import safe_echo


def make_app(folder: Path) -> Starlette:
    """An application that serves a folder, with range requests, to this machine's own names."""
    return Starlette(
        routes=[Mount("/", StaticFiles(directory=folder, html=True))],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


def serve(folder: Path, port: int, *, opens_browser: bool) -> None:
    """Serve on a port (0: any) until interrupted. Raises CallError if the port is taken."""
    with listen(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}/"
        config = uvicorn.Config(
            make_app(folder), log_level="critical", access_log=False, ws="none", lifespan="off",
            server_header=False, timeout_graceful_shutdown=1,
        )  # fmt: skip
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            safe_echo(f"The published bank is at {address}", "Press Ctrl-C to stop.")
            if opens_browser:
                with suppress(webbrowser.Error):
                    webbrowser.open(address)
            uvicorn.Server(config).run(sockets=[listener])
        safe_echo("The server is closed.")
