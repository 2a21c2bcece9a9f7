"""All heads at once: a grid of layers by heads, and the map in which like heads are near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnbank.cli.explorer.grids import DIRECTIONS, MEASURES, Grid, grid
from attnbank.cli.explorer.paging import paging
from attnbank.cli.explorer.tables import table_of
from attnbank.cli.explorer.visit import Page, Visit, link
from attnbank.sql.errors import AttnbankError

_WITHOUT_TREES = "previous"
"""The measure that is shown where none is named and the run has no trees."""
_WIDE, _HIGH, _EDGE = 960.0, 600.0, 30.0
_SHAPES = (
    "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z",
    "M-5.5 -5.5h11v11h-11z",
    "M0 -6.5L6.5 5.5H-6.5z",
    "M0 -7L7 0L0 7L-7 0z",
    "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
    "M0 6.5L6.5 -5.5H-6.5z",
    "M6.5 0L-5.5 6.5V-6.5z",
)
"""Circle, square, triangle, diamond, cross and two more triangles, around the origin. They are one
more than the colours, so that colour and shape together tell forty-two kinds apart."""
_COLOURS = 6


def view(visit: Visit) -> Page:
    """Show the grid of heads, coloured by what the address names."""
    by = visit.chosen("by", MEASURES)
    relation = visit.text("relation", "all")
    direction = visit.chosen("direction", DIRECTIONS)
    made: Grid | None = None
    error: AttnbankError | None = None
    for each in (by, _WITHOUT_TREES):
        try:
            made = grid(visit, each, visit.run, relation, direction)
        except AttnbankError as fault:
            error = error or fault
            if "by" in visit.given or visit.given.get("relation"):
                break
            continue  # nobody asked for trees: without them, what every run has is shown
        by, error = each, None
        break
    is_relation = by == "relation"

    def to_head(name: str) -> str:
        return link(
            f"/head/{name}", run=visit.run,
            relation=relation if is_relation else None,
            direction=direction if is_relation else None,
        )  # fmt: skip

    return Page(
        "heads.html",
        "Heads",
        {
            "by": by,
            "measures": MEASURES,
            "relation": relation,
            "relations": relations(visit),
            "direction": direction,
            "directions": DIRECTIONS,
            "run": visit.run,
            "runs": visit.runs(),
            "grid": made,
            "to_head": to_head,
            "is_relation": is_relation,
            "error": error,
        },
        400 if error is not None else 200,
    )


def relations(visit: Visit) -> list[str]:
    """The relations of the trees of the bank, without their subtypes, and those that are saved."""

    def read() -> list[str]:
        rows = visit.bank.connection.execute(
            "select distinct without_subtype(word.deprel) as relation from word"
            " where word.head_index > 0 order by relation"
        ).fetchall()
        names = [name for (name,) in rows if name]
        return ["all", *names, *visit.bank.saved()["name"]]

    return visit.opened.once("relations", read)


@dataclass(frozen=True)
class Point:
    """A head on the map: its place, its colour class, its shape as a path, and its words."""

    name: str
    x: float
    y: float
    colour: str
    shape: str
    told: str


def view_map(visit: Visit) -> Page:
    """Show the map of figure 6, on which each head is a link."""
    shown: dict[str, Any] = {"run": visit.run, "runs": visit.runs(), "error": None, "points": []}
    try:
        answer = visit.ask("figure_6", run=visit.run)
    except AttnbankError as error:
        return Page("map.html", "Map of the heads", shown | {"error": error, "answered": None}, 400)
    rows = answer.frame.to_dicts()
    kinds = list(dict.fromkeys(sorted(str(row["behaviour"]) for row in rows)))
    points = _points(rows, kinds)
    return Page(
        "map.html",
        "Map of the heads",
        shown
        | {
            "answered": answer.run,
            "points": points,
            "kinds": [(*_mark(kind, kinds), kind) for kind in kinds],
            "wide": _WIDE,
            "high": _HIGH,
            "table": table_of(answer.frame, run=visit.run, part=paging(visit, answer.frame.height)),
            "to_head": lambda name: link(f"/head/{name}", run=visit.run),
        },
    )


def _points(rows: list[dict[str, Any]], kinds: list[str]) -> list[Point]:
    """The heads on a plane of pixels, one scale for both axes, so that distances stay true."""
    if not rows:
        return []
    xs, ys = [row["x"] for row in rows], [row["y"] for row in rows]
    wide, high = max(xs) - min(xs) or 1.0, max(ys) - min(ys) or 1.0
    scale = min((_WIDE - 2 * _EDGE) / wide, (_HIGH - 2 * _EDGE) / high)
    left = (_WIDE - wide * scale) / 2
    top = (_HIGH - high * scale) / 2
    return [
        Point(
            name := f"{row['layer']}-{row['head']}",
            left + (row["x"] - min(xs)) * scale,
            top + (max(ys) - row["y"]) * scale,
            *_mark(str(row["behaviour"]), kinds),
            f"Head {name}: {row['behaviour']}",
        )
        for row in rows
    ]


def _mark(kind: str, kinds: list[str]) -> tuple[str, str]:
    """The colour class and the shape of a kind; the rest, `other`, is grey and round."""
    if kind == "other":
        return "rest", _SHAPES[0]
    at = [each for each in kinds if each != "other"].index(kind)
    return f"k{at % _COLOURS}", _SHAPES[at % len(_SHAPES)]
