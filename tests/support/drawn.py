"""The content of a drawn picture: its marks and its words, read from Vega's scene graph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import vl_convert

from attnbank.sql.header import OWN, Analysis, parse

HEADS = """\
-- title: {title}
-- grain: one row per head
-- plot: {plot}
-- column group varchar: above (from every token) or below
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column share double: share of something, in [0, 1]
-- column other double: another share, in [0, 1]
-- column low double: lower end of the 95 % interval of share
-- column run varchar: name of the run that answered
select 1
"""


def heads(plot: str, title: str = "Points of heads (a test)") -> Analysis:
    """An analysis of heads that has `plot` as that line of its header."""
    return parse("heads", OWN, HEADS.format(plot=plot, title=title))


def frame_of_heads(
    layers: int = 2, heads: int = 3, groups: tuple[str, ...] = ("a",)
) -> pl.DataFrame:
    """Rows of the analysis of `heads`, each with a different share."""
    rows = [
        (group, layer, head, (1 + at + layer * 10 + head) / 100, (layer * 10 + head) / 200, "r")
        for at, group in enumerate(groups)
        for layer in range(1, layers + 1)
        for head in range(1, heads + 1)
    ]
    names = ["group", "layer", "head", "share", "other", "run"]
    return pl.DataFrame(rows, schema=names, orient="row")


def scene_of(specification: Mapping[str, Any]) -> Any:
    """The scene graph that the picture is drawn from."""
    return vl_convert.vegalite_to_scenegraph(json.dumps(specification), vl_version="6.4")[
        "scenegraph"
    ]


def marks_of(specification: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """The marks of a kind (rect, symbol, line, rule, text) that represent rows, in order."""
    return [
        item
        for group in _groups(scene_of(specification))
        if group["marktype"] == kind and str(group.get("name", "")).endswith("marks")
        for item in group["items"]
    ]


def words_of(specification: Mapping[str, Any]) -> list[str]:
    """Every text that the picture shows."""
    found: list[str] = []
    for group in _groups(scene_of(specification)):
        if group["marktype"] == "text":
            for item in group["items"]:
                text = item.get("text", "")
                found += text if isinstance(text, list) else [str(text)]
    return found


def figures_of(mark: Mapping[str, Any]) -> dict[str, str]:
    """The values that a mark represents, by field, read from its description."""
    parts = (part.split(": ", 1) for part in mark["description"].split("; "))
    return {part[0]: part[1] for part in parts if len(part) == 2}


def _groups(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "marktype" in node:
            yield node
        for each in node.get("items", []):
            yield from _groups(each)
