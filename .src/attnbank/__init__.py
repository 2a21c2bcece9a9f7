"""Ask a database what the attention heads of a transformer look at.

    import attnbank

    with attnbank.open_bank("gum.duckdb") as bank:
        heads = bank.query("best_head", relation="obj")  # a Polars frame
        bank.save("object", "pattern { V -[obj]-> O }", dependent="O", head="V")

`attnbank.ingest` fills banks, `attnbank.queries` reads them. Nothing heavy is imported until it is
used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnbank.queries import Bank

    __version__: str

if Path(__file__).with_name("sql").is_file():  # git wrote the link as a text
    raise ImportError(
        "The folders of attnbank are symbolic links, which this clone does not have."
        " Type: git config core.symlinks true && git checkout -- .src"
    )

__all__ = ["__version__", "open_bank"]


def open_bank(path: str | Path, *, queries: str | Path | None = None) -> Bank:
    """Open a bank for reading; `bank.save` keeps a relation in it.

    Everything else is as in `attnbank.queries.open_bank`.
    """
    from attnbank.ingest.store.saved import SavingBank
    from attnbank.sql.registry import load_user_analyses

    load_user_analyses(queries)
    return SavingBank(path)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("attnbank")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "cli", "ingest", "queries", "sql"})
