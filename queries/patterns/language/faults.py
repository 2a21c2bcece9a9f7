"""The error for a request that is wrong, with the place where it is wrong."""

from __future__ import annotations

from attnbank.queries.patterns.language.tree import Place
from attnbank.sql.errors import CallError

_LONGEST = 240


class RequestError(CallError):
    """A request that cannot be read, or asks for what is not supported. `place` says where."""

    def __init__(self, place: Place, fact: str, remedy: str = "") -> None:
        if len(fact) > _LONGEST:  # it may quote a name or a value of any length
            fact = f"{fact[: _LONGEST // 2]} … {fact[-_LONGEST // 2 :]}"
        super().__init__(f"Line {place.line}, column {place.column} of the request: {fact}", remedy)
        self.place = place
