"""From annotated text and a model to rows in a bank.

`ingest(IngestOptions(...))` does all of it; `estimate` counts what it would write;
`ingest_to_export` fills an export, with an engine that runs the model elsewhere. Heavy packages
(torch, transformers, spacy) are imported only when one of the three is used. `merge_banks` makes a
bank of several, `import_export` of an export, and they need none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnbank.ingest.threads import wait_passively
from attnbank.sql.extras import need

if TYPE_CHECKING:
    from attnbank.ingest.engines.filling import ingest_to_export
    from attnbank.ingest.meeting.importing import import_export, import_exports
    from attnbank.ingest.meeting.merging import merge_banks
    from attnbank.ingest.options import IngestOptions
    from attnbank.ingest.run import estimate, ingest

__all__ = [
    "IngestOptions", "estimate", "import_export", "import_exports", "ingest", "ingest_to_export",
    "merge_banks",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("estimate", "ingest"):
        need("Filling a bank", "torch", "transformers", "tokenizers", "tqdm")
        wait_passively()
        from attnbank.ingest import run as ingesting

        return getattr(ingesting, name)
    if name == "ingest_to_export":
        need("Filling an export", "torch", "transformers", "tokenizers", "tqdm")
        wait_passively()
        from attnbank.ingest.engines.filling import ingest_to_export

        return ingest_to_export
    if name == "IngestOptions":
        from attnbank.ingest.options import IngestOptions

        return IngestOptions
    if name in ("import_export", "import_exports"):
        from attnbank.ingest.meeting import importing

        return getattr(importing, name)
    if name == "merge_banks":
        from attnbank.ingest.meeting.merging import merge_banks

        return merge_banks
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
