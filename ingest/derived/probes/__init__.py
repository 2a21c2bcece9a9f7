"""Probes: classifiers that find syntactic heads in attention (section 5 of the paper).

    from attnbank.ingest.derived.probes import train_probe

    report = train_probe("x.duckdb", "attention", "gum-train/minilm", "gum-dev/minilm")
    print(report.scores)

Heavy packages (torch, duckdb, polars) are imported only when a probe is trained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnbank.ingest import wait_passively
from attnbank.ingest.derived.probes.probe_options import (
    KINDS,
    ROOT_AT,
    Epoch,
    ProbeOptions,
    ProbeReport,
)
from attnbank.sql.errors import require_extra

if TYPE_CHECKING:
    from attnbank.ingest.derived.probes.training import train_probe

__all__ = ["KINDS", "ROOT_AT", "Epoch", "ProbeOptions", "ProbeReport", "train_probe"]


def __getattr__(name: str) -> Any:
    if name == "train_probe":
        require_extra("A probe", "ingest", "torch")
        wait_passively()
        from attnbank.ingest.derived.probes.training import train_probe

        return train_probe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
