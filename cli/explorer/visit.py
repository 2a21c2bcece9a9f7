"""Whether who has asked still waits for the answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Visit:
    """One request of somebody, who may leave before it is answered."""

    def __init__(self) -> None:
        self.has_begun = False
        self.has_left = False
        self._stop: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def begin(self) -> bool:
        """Begin the work, unless who asked has left."""
        with self._lock:
            self.has_begun = not self.has_left
            return self.has_begun

    def leave(self) -> None:
        """Stop what is done for this visit alone."""
        with self._lock:
            self.has_left = True
            stop = self._stop
        if stop is not None:
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Within, `stop` is called when who asked leaves, or has left; from another thread."""
        with self._lock:
            self._stop, has_left = stop, self.has_left
        if has_left:
            stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None
