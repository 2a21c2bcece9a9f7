"""A host of published banks that counts what it is asked, and answers as late as one far away."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import isfunction
from pathlib import Path
from typing import Any

import uvicorn

from attnbank.cli.viewer.site import publication_app


@contextlib.contextmanager
def served(application: Any) -> Iterator[str]:
    """The address of an ASGI application, or of the one that a function makes for a port."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    if isfunction(application):
        application = application(port)
    config = uvicorn.Config(application, log_level="critical", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


@dataclass
class Counted:
    """The site of a publication; `asked` has the path and the bytes of each answer with a body.

    `ranges` are those that were asked for: first and last byte, in the order of the requests.
    """

    folder: Path
    seconds: float = 0.0
    asked: list[tuple[str, int]] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._site = publication_app(self.folder)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, after the time that its way would take."""
        at = len(self.asked)
        if scope["method"] == "GET":
            self.asked.append((scope["path"], 0))
            value = dict(scope["headers"]).get(b"range", b"").decode()
            if found := re.fullmatch(r"bytes=(\d+)-(\d+)", value):
                self.ranges.append((int(found[1]), int(found[2])))

        async def counted(message: Any) -> None:
            if message["type"] == "http.response.body" and scope["method"] == "GET":
                path, size = self.asked[at]
                self.asked[at] = path, size + len(message.get("body", b""))
            await send(message)

        await asyncio.sleep(self.seconds)
        await self._site(scope, receive, counted)

    def taken(self, chosen: Callable[[str], bool]) -> tuple[int, int]:
        """How many requests, and how many bytes, for the paths that are chosen."""
        sizes = [size for path, size in self.asked if chosen(path)]
        return len(sizes), sum(sizes)
