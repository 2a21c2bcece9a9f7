"""From annotated text and a model to rows in a bank.

`ingest(IngestOptions(...))` does all of it; `estimate` counts what it would write. Heavy packages
(torch, transformers, spacy) are imported only when one of the two is used. `import_export` makes a
bank of an export, and needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnbank.ingest.threads import wait_passively
from attnbank.sql.extras import need

if TYPE_CHECKING:
    from attnbank.ingest.options import IngestOptions
    from attnbank.ingest.run import estimate, ingest
    from attnbank.ingest.store.importing import import_export

__all__ = ["IngestOptions", "estimate", "import_export", "ingest"]


def __getattr__(name: str) -> Any:
    if name in ("estimate", "ingest"):
        need("Filling a bank", "torch", "transformers", "tokenizers", "tqdm")
        wait_passively()
        from attnbank.ingest import run as ingesting

        return getattr(ingesting, name)
    if name == "IngestOptions":
        from attnbank.ingest.options import IngestOptions

        return IngestOptions
    if name == "import_export":
        from attnbank.ingest.store.importing import import_export

        return import_export
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
