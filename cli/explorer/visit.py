"""A request, and whether its client is still connected."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Visit:
    """A request whose client may disconnect before it is answered."""

    def __init__(self) -> None:
        self.has_begun = False
        self.has_left = False
        self._stop: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def is_wanted(self) -> bool:
        """Whether to start the work: not for a client that has disconnected."""
        with self._lock:
            self.has_begun = not self.has_left
            return self.has_begun

    def leave(self) -> None:
        """Note that the client has disconnected, and call `stop` if work is being done for it
        alone.
        """
        with self._lock:
            self.has_left = True
            stop = self._stop
        if stop is not None:
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Context manager in which another thread calls `stop` when the client disconnects."""
        with self._lock:
            self._stop, has_left = stop, self.has_left
        if has_left:
            stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None
