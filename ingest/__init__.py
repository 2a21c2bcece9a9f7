"""Runs a model over an annotated corpus and writes its attention into a bank.

`ingest(IngestOptions(...))` does all of it; `estimate` counts what it would write;
`ingest_to_export` writes an export, with an engine that runs the model elsewhere. Heavy packages
(torch, transformers, spacy) are imported only when one of these functions is first used.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnbank.sql.errors import require_extra

if TYPE_CHECKING:
    from attnbank.ingest.losses.edges import Edges
    from attnbank.ingest.losses.head_sets import AblateOptions, HeadSet, LossOptions
    from attnbank.ingest.losses.surprisal import ablate, surprisal
    from attnbank.ingest.merge.merging import import_export, import_exports, merge_banks
    from attnbank.ingest.options import IngestOptions
    from attnbank.ingest.parts import ingest_to_export
    from attnbank.ingest.precomputed import add_run
    from attnbank.ingest.run import estimate, estimate_series, ingest, ingest_series
    from attnbank.ingest.store.annotations import annotate
    from attnbank.ingest.store.corpus import add_text
    from attnbank.ingest.store.saved import save_relation

__all__ = [
    "AblateOptions", "Edges", "HeadSet", "IngestOptions", "LossOptions", "ablate", "add_run",
    "add_text", "annotate", "estimate", "estimate_series", "import_export", "import_exports",
    "ingest", "ingest_series", "ingest_to_export", "merge_banks", "save_relation", "surprisal",
]  # fmt: skip

# Packages of the extra `ingest` without which no bank can be filled.
FILLING = ("torch", "transformers", "tokenizers", "tqdm")
# Where the exported names are defined; `__getattr__` imports the module on first use.
_MODULES = {
    "IngestOptions": "options",
    "annotate": "store.annotations",
    "save_relation": "store.saved",
    "add_run": "precomputed",
    **dict.fromkeys(("ablate", "surprisal"), "losses.surprisal"),
    **dict.fromkeys(("AblateOptions", "HeadSet", "LossOptions"), "losses.head_sets"),
    "Edges": "losses.edges",
    "add_text": "store.corpus",
    **dict.fromkeys(("estimate", "estimate_series", "ingest", "ingest_series"), "run"),
    **dict.fromkeys(("import_export", "import_exports", "merge_banks"), "merge.merging"),
    "ingest_to_export": "parts",
}


def wait_passively() -> None:
    """Make OpenMP's threads sleep while they wait. Has no effect once torch is imported.

    By default they spin, which takes CPU time from the threads that read and write. Environment
    variables that are already set are not changed.
    """
    if "torch" not in sys.modules and "GOMP_SPINCOUNT" not in os.environ:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _MODULES[name] in ("parts", "losses.surprisal", "precomputed", "run"):
        what = "an export" if name == "ingest_to_export" else "a bank"
        require_extra(f"Filling {what}", "ingest", *FILLING)
        wait_passively()
    return getattr(import_module(f"attnbank.ingest.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
