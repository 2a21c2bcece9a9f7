"""Whose figures a picture shows: the runs, their models and their corpora."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from attnbank.queries.pictures.rows import plain

_RUNS = ("run", "run_a", "run_b", "train_run", "test_run")
"""Columns that name runs."""
_MOST = 3


@dataclass(frozen=True)
class Facts:
    """The names of what a picture is about, as its subtitle says them.

    `models` are the folders that models were read from. `given` are the parameters that were
    given, but for the run. Every name comes from outside; the picture shows it as plain text.
    """

    runs: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)

    def lines(self, width: int) -> list[str]:
        """Run, model and corpus, then what was asked for, in lines of about `width` characters."""
        parts = [
            _named("run", self.runs),
            _named("model", self.models),
            _named("corpus", self.corpora, "corpora"),
            *(
                f"{name.replace('_', ' ')}: {plain(_value(value))}"
                for name, value in self.given.items()
            ),
        ]
        lines: list[str] = []
        for part in filter(None, parts):
            if lines and len(lines[-1]) + len(part) + 3 <= width:
                lines[-1] += f" · {part}"
            else:
                lines += textwrap.wrap(f"{part[:1].upper()}{part[1:]}", width)
        return lines


def facts_of(frame: pl.DataFrame, runs: pl.DataFrame, given: Mapping[str, Any]) -> Facts:
    """The facts of the runs that a frame names; of all where it names none.

    `runs` is the frame of a bank's runs, with columns name, model and corpus.
    """
    named: dict[str, None] = {}
    for column in _RUNS:
        if column in frame.columns and frame.schema[column] == pl.String:
            named.update(dict.fromkeys(frame[column].drop_nulls().unique(maintain_order=True)))
    told = runs.filter(pl.col("name").is_in(list(named))) if named else runs
    return Facts(
        tuple(named),
        tuple(dict.fromkeys(map(_folder, told["model"]))),
        tuple(dict.fromkeys(told["corpus"])),
        {
            name: value
            for name, value in given.items()
            if value is not None and not (name == "run" or name.startswith("run_"))
        },
    )


def _folder(model: str) -> str:
    """The last part of a model's name, which may be a path."""
    return re.split(r"[/\\]", model.rstrip("/\\"))[-1] or model


def _named(kind: str, names: Iterable[str], kinds: str | None = None) -> str:
    """`corpus a`, `corpora a, b`, `corpora a, b, c and 2 more`; nothing where there is none."""
    those = [plain(each) for each in names]
    if not those:
        return ""
    more = f" and {len(those) - _MOST} more" if len(those) > _MOST else ""
    word = kind if len(those) == 1 else kinds or f"{kind}s"
    return f"{word} {', '.join(those[:_MOST])}{more}"


def _value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
