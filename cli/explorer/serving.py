"""Opening the port, printing the address, and leaving nothing behind."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from attnbank.cli.explorer.desk import Desk
from attnbank.cli.explorer.security import HOST
from attnbank.cli.explorer.site import make_site
from attnbank.sql.errors import CallError

_PATIENCE = 2
"""Seconds that requests have to end when the explorer is closed."""


class _Server(uvicorn.Server):
    """A server that says when it answers."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, then say so."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def serve(
    path: Path,
    port: int,
    seconds: float,
    memory: int,
    say: Callable[[str], None],
    *,
    opens_browser: bool,
) -> None:
    """Answer on a port of this machine until an interrupt; 0 is any port that is free.

    `say` prints a line. Raises BankError where the bank cannot be opened, CallError where the port
    cannot be had.
    """
    desk = Desk(path, seconds, memory)
    try:
        with _listening(port) as listener:
            number = listener.getsockname()[1]
            token = secrets.token_urlsafe(24)
            address = f"http://{HOST}:{number}/?token={token}"
            config = uvicorn.Config(
                make_site(desk, token, number),
                log_level="critical",  # a request that is ended by closing is no news
                access_log=False,
                ws="none",
                lifespan="off",
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_PATIENCE,
                h11_max_incomplete_event_size=65_536,
            )

            def ready() -> None:
                say(f"The explorer is at {address}")
                say("Whoever has this address can read the bank, on this machine alone."
                    " Ctrl-C ends it.")  # fmt: skip
                if opens_browser:
                    with suppress(webbrowser.Error):
                        webbrowser.open(address)

            # The server gives a signal on when it has closed; either then ends here.
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, signal.default_int_handler)
            with suppress(KeyboardInterrupt):
                _Server(config, ready).run(sockets=[listener])
            say("The explorer is closed.")
    finally:
        desk.close()


def _listening(port: int) -> socket.socket:
    """A socket on the port. Raises CallError where it is taken or may not be had."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise CallError(
            f"Port {port} cannot be had: {(error.strerror or str(error)).lower()}.",
            "Another explorer may have it. Give another one: --port 0 takes any that is free.",
        ) from error
    return listener
