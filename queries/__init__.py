"""Opens banks for reading, and returns analyses and requests as Polars frames.

    from attnbank.queries import open_bank

    with open_bank("x.duckdb") as bank:
        frame = bank.query("best_head", relation="obj")

Heavy packages (duckdb, polars, sqlglot) are imported only when a name that needs them is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnbank.sql.registry import analyses

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank, UnfinishedRunWarning, open_bank, open_for_requests
    from attnbank.queries.dialects import to_dialect

__all__ = [
    "Bank",
    "UnfinishedRunWarning",
    "analyses",
    "open_bank",
    "open_for_requests",
    "to_dialect",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "dialects" if name == "to_dialect" else "bank"
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
