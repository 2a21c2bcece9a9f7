"""The pictures that are kept in git for the README and the pages, as `attnbank plot` draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from attnbank.queries import open_bank
from attnbank.sql.header import Analysis
from attnbank.sql.registry import find_analysis

KEPT: dict[str, dict[str, Any]] = {
    "best_head": {},
    "head_accuracy": {"relation": "obj"},
    "figure_6": {},
}
"""The analyses that have a kept picture, and the values of its parameters."""


class Banks(Protocol):
    """Something that has a bank for an analysis."""

    def bank(self, analysis: Analysis) -> Path:
        """The bank in which the analysis has an answer."""


def pictures(banks: Banks) -> dict[str, str]:
    """Every kept picture as SVG, by name of file below docs/."""
    found = {}
    for name, values in KEPT.items():
        with open_bank(banks.bank(find_analysis(name))) as bank:
            made = bank.picture(name, **values)
        found[f"pictures/{name}.svg"] = f"{made.as_bytes('.svg').decode()}\n"
    return found
