"""The chapters and sections, and the published figures, as their files state them."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from attnbank.queries.sections.kinds import Chapter, Section


@cache
def chapters() -> tuple[Chapter, ...]:
    """The chapters in the order of the paper, then those of other papers and of controls."""
    return tuple(
        Chapter(
            each["key"],
            each["title"],
            each["paper"],
            tuple(_section(one) for one in each["section"]),
        )
        for each in _read("sections.toml")["chapter"]
    )


@cache
def published() -> dict[str, Any]:
    """Return the published figures, by the name that a section gives."""
    return _read("published.toml")


def _section(told: dict[str, Any]) -> Section:
    return Section(**{"picture": told["analysis"]} | told)


def _read(name: str) -> dict[str, Any]:
    text = (files("attnbank.queries.sections") / name).read_text(encoding="utf-8")
    return tomllib.loads(text)
