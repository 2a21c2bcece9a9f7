"""Two runs side by side: their best heads for each relation, and one measure over both."""

from __future__ import annotations

from typing import Any

from attnbank.cli.explorer.grids import DIRECTIONS, MEASURES, grid
from attnbank.cli.explorer.paging import paging
from attnbank.cli.explorer.tables import Link, table_of
from attnbank.cli.explorer.views.heads import relations
from attnbank.cli.explorer.visit import Page, Visit, link
from attnbank.sql.errors import AttnbankError


def view(visit: Visit) -> Page:
    """The comparison of the two runs that the address names, or of the bank's own choice."""
    first, second = visit.optional("run_a"), visit.optional("run_b")
    by = visit.chosen("by", MEASURES)
    relation = visit.text("relation", "all")
    direction = visit.chosen("direction", DIRECTIONS)
    shown: dict[str, Any] = {
        "run": None,
        "runs": visit.runs(),
        "run_a": first,
        "run_b": second,
        "by": by,
        "measures": {name: each for name, each in MEASURES.items() if name != "probe"},
        "relation": relation,
        "relations": relations(visit),
        "direction": direction,
        "directions": DIRECTIONS,
        "is_relation": by == "relation",
        "table": None,
        "error": None,
        "grids": [],
        "named": (first, second),
    }
    try:
        answer = visit.ask("compare_runs", run_a=first, run_b=second)
        frame = answer.frame
        if frame.height:
            shown["named"] = first or frame["run_a"][0], second or frame["run_b"][0]
        part = paging(visit, frame.height)
        shown["table"] = table_of(
            frame.drop("run_a", "run_b"), _to_heads(shown["named"]), part=part
        )
    except AttnbankError as error:
        shown["error"] = error
    asked = by, relation, direction
    high = 0.0
    for _ in range(2):  # the second time on one scale, so that the colours can be compared
        shown["grids"] = [_side(visit, run, asked, high) for run in shown["named"]]
        high = max((each["grid"].high for each in shown["grids"] if each["grid"]), default=0.0)
    return Page("compare.html", "Compare two runs", shown)


def _to_heads(runs: tuple[str | None, str | None]) -> dict[str, Link]:
    """The links from the heads of both runs to their pages."""

    def way(end: str, run: str | None) -> Link:
        return lambda row: link(
            f"/head/{row[f'layer_{end}']}-{row[f'head_{end}']}",
            run=run,
            relation=row["relation"],
            direction=row[f"direction_{end}"],
        )

    return {f"head_{end}": way(end, run) for end, run in zip("ab", runs, strict=True)}


def _side(
    visit: Visit, run: str | None, asked: tuple[str, str, str], high: float
) -> dict[str, Any]:
    """One run's grid, or why it has none; the other one is shown all the same."""
    by, relation, direction = asked

    def to_head(name: str) -> str:
        of_relation = {"relation": relation, "direction": direction} if by == "relation" else {}
        return link(f"/head/{name}", run=run, **of_relation)

    if run is None:
        return {
            "run": "no second run",
            "grid": None,
            "why": "Choose a second run.",
            "to_head": to_head,
        }
    try:
        made = grid(visit, by, run, relation, direction, high)
    except AttnbankError as error:
        why = f"{error.fact} {error.remedy}"
        return {"run": run, "grid": None, "why": why, "to_head": to_head}
    return {"run": run, "grid": made, "why": "", "to_head": to_head}
