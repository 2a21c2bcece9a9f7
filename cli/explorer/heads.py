"""All heads: a grid of layers by heads, the map in which like heads are near, two runs compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import polars as pl

from attnbank.cli.explorer import colours
from attnbank.cli.explorer.request import RequestContext, link
from attnbank.queries.pictures import Look
from attnbank.queries.pictures.charts import why_not_drawn
from attnbank.queries.pictures.encodings import encodings, ends_of, in_order, label_of, unit_of
from attnbank.queries.pictures.panels import is_significant
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.registry import analyses
from attnbank.sql.subtypes import DIRECTIONS

_WIDE, _HIGH, _EDGE = 960.0, 600.0, 30.0
_MARK = 6.5
"""Half the width of a mark, in pixels."""


@dataclass(frozen=True)
class HeadMeasure:
    """What a grid can be coloured by: a column of an analysis that is drawn as a grid of heads.

    Its scale is that of the picture: the fixed `domain`, or what the `columns` of the picture
    reach. Values from 0 to 1 are shares. A relation is chosen where the analysis takes one
    (`has_relation`), a direction where it has a row for each (`has_direction`).
    """

    title: str
    analysis: str
    column: str
    columns: tuple[str, ...] = ()
    domain: tuple[float, float] | None = None
    has_relation: bool = False
    has_direction: bool = False

    @property
    def is_share(self) -> bool:
        """Whether values are written as per cent."""
        return self.domain == (0.0, 1.0)


MEASURES = {
    "relation": HeadMeasure("Accuracy for a relation", "head_accuracy", "accuracy"),
    "previous": HeadMeasure("Attention to the previous token", "relative_position", "previous"),
    "self": HeadMeasure("Attention to the token itself", "relative_position", "self"),
    "next": HeadMeasure("Attention to the next token", "relative_position", "next"),
    "cls": HeadMeasure("Attention to [CLS]", "special_tokens", "cls"),
    "sep": HeadMeasure("Attention to [SEP]", "special_tokens", "sep"),
    "punctuation": HeadMeasure("Attention to . and ,", "special_tokens", "punctuation"),
    "entropy": HeadMeasure("Entropy in nats", "entropy", "entropy"),
    "coreference": HeadMeasure("Accuracy for coreference", "coreference_accuracy", "accuracy"),
    "probe": HeadMeasure("Contribution to a probe in nats", "probe_heads", "contribution"),
}
"""The usual measures by the name that they have in an address."""


@cache
def measures() -> dict[str, HeadMeasure]:
    """Every measure: the usual ones, then each column that an analysis draws as a grid of heads."""
    found = dict(MEASURES)
    usual = {(each.analysis, each.column) for each in MEASURES.values()}
    for name, analysis in analyses().items():
        plot = analysis.plot
        if plot is None or plot.kind != "grid" or {*plot.panel} - {"direction"}:
            continue
        if not any(each.name == "run" for each in analysis.parameters):
            continue  # a grid is that of a run
        if plot.x not in ((), ("head",)) or plot.y not in ((), ("layer",)):
            continue
        types = {each.name: each.type for each in analysis.columns}
        for column in plot.color:
            if types[column] == "double" and (name, column) not in usual:
                title = f"{name.replace('_', ' ').capitalize()}: {column.replace('_', ' ')}"
                help = next(each.help for each in analysis.columns if each.name == column)
                unit = unit_of(help)
                title += f" ({unit})" if unit and plot.domain is None else ""
                found[f"{name}.{column}"] = HeadMeasure(title, name, column)
    return {key: _scaled(each) for key, each in found.items()}


def _scaled(measure: HeadMeasure) -> HeadMeasure:
    analysis = analyses()[measure.analysis]
    plot = analysis.plot
    assert plot is not None, "a measure is one that is drawn"
    return replace(
        measure,
        columns=plot.color,
        domain=plot.domain,
        has_relation=any(parameter.name == "relation" for parameter in analysis.parameters),
        has_direction=any(column.name == "direction" for column in analysis.columns),
    )


def _titles() -> dict[str, str]:
    return {name: each.title for name, each in measures().items()}


@dataclass(frozen=True)
class Colouring:
    """What the address asks heads to be coloured by; relation and direction count for relations.

    To `stretch` colours is to spread them over the values there are, which cannot be compared.
    """

    by: str
    relation: str
    direction: str
    stretch: bool

    @classmethod
    def from_address(cls, context: RequestContext) -> Colouring:
        """What the address says. Raises CallError for what is not a choice."""
        return cls(
            context.choice_parameter("by", measures()),
            context.text_parameter("relation", "all"),
            context.choice_parameter("direction", DIRECTIONS),
            context.flag("stretch"),
        )

    @property
    def measure(self) -> HeadMeasure:
        """What heads are coloured by."""
        return measures()[self.by]

    @property
    def heading(self) -> str:
        """What stands above a grid."""
        of = f" for {self.relation}" if self.measure.has_relation else ""
        direction = f", {self.direction.replace('_', ' ')}" if self.measure.has_direction else ""
        title = "Accuracy" if self.by == "relation" else self.measure.title
        return f"{title}{of}{direction}"

    def to_head(self, run: str | None) -> Callable[[str], str]:
        """The address of a head's page by its name, for the same relation if there is one."""
        asked = {"relation": self.relation, "direction": self.direction}
        return lambda name: link(
            f"/head/{name}", run=run, **(asked if self.measure.has_relation else {})
        )


@dataclass(frozen=True)
class Grid:
    """A row a layer (number, a value a head); `best` is the head of the highest value, `top`.

    `amounts` are what the scale of the picture has to hold. The `rows` are those of the analysis
    for what was `given`, of one direction where it has several.
    """

    measure: HeadMeasure
    layers: list[tuple[int, list[float | None]]]
    run: str | None
    best: str
    top: float
    amounts: list[float]
    rows: pl.DataFrame
    given: dict[str, str | None]


def scale_of_grids(grids: Sequence[Grid], colouring: Colouring) -> list[float]:
    """The ends of one scale of colours for grids, as `attnbank plot` has it for the picture."""
    if colouring.stretch:
        shown = [value for each in grids for _, row in each.layers for value in row]
        return ends_of([each for each in shown if each is not None], None, stretch=True)
    amounts = [value for each in grids for value in each.amounts]
    return ends_of(amounts, colouring.measure.domain)


def grid(context: RequestContext, run: str | None, colouring: Colouring) -> Grid:
    """The grid of a run. Raises as `Bank.query`, CallError if no head has a value."""
    measure = colouring.measure
    given: dict[str, str | None] = {"kind": "all"} if colouring.by == "coreference" else {}
    if colouring.by != "probe" and run is not None:
        given["run"] = run
    if measure.has_relation and colouring.by != "relation" and colouring.relation != "all":
        given["relation"] = colouring.relation
    answer = context.query(measure.analysis, **given)
    frame = answer.frame
    if colouring.by == "relation":
        given["relation"] = colouring.relation
        # All relations at once are what `attnbank compute` keeps; a saved one is not among them.
        frame = frame.filter(pl.col("relation") == colouring.relation)
        if not frame.height:
            answer = context.query(measure.analysis, **given)
            frame = answer.frame
    amounts = [
        value
        for column in measure.columns
        for value in frame[column].cast(pl.Float64).fill_nan(None).drop_nulls()
    ]
    if "direction" in frame.columns:
        frame = frame.filter(pl.col("direction") == colouring.direction)
    if not frame.height:
        raise CallError(
            f"{measure.title} has no value for any head of this run.", "Choose another measure."
        )
    answer_rows = frame
    value = pl.col(measure.column).cast(pl.Float64).fill_nan(None)
    frame = frame.select("layer", "head", value.alias("value"))
    values = {(layer, head): value for layer, head, value in frame.rows()}
    best = frame.sort("value", "layer", "head", descending=[True, False, False], nulls_last=True)
    heads = range(1, max(frame["head"]) + 1)
    return Grid(
        measure,
        [(at, [values.get((at, each)) for each in heads]) for at in sorted(set(frame["layer"]))],
        answer.run_name,
        "{}-{}".format(*best.row(0)),
        best["value"][0] or 0.0,
        amounts,
        answer_rows,
        given,
    )


def heads_view(context: RequestContext, shown: dict[str, Any]) -> None:
    """Show the grid of heads, coloured by what the address names."""
    colouring = Colouring.from_address(context)
    shown |= {"measures": list(measures()), "titles": _titles(), "colouring": colouring}
    try:
        made = grid(context, context.run_name, colouring)
    except AttnbankError:
        if "by" in context.given or "relation" in context.given:
            raise
        # Nobody asked for trees: without them, what every run has is shown.
        colouring = replace(colouring, by="previous")
        made = grid(context, context.run_name, colouring)
    shown |= {"ends": scale_of_grids([made], colouring), "rows": made.rows}
    shown |= {"colouring": colouring, "grid": made, "to_head": colouring.to_head(context.run_name)}
    name, measure = made.measure.analysis, made.measure
    given = made.given | ({} if colouring.by == "probe" else {"run": made.run})
    direction = colouring.direction if measure.has_direction else None
    shown["command"] = context.rows_command(name, given, direction=direction)
    if why_not_drawn(analyses()[name], made.rows) is None:
        shown |= _figure(context, name, given, stretch=colouring.stretch)
    shown |= _steps(context, made.run)


def _figure(
    context: RequestContext, name: str, given: Mapping[str, Any], *, stretch: bool = False
) -> dict[str, Any]:
    """What makes a file of the picture of an analysis, and the command that does."""
    look = Look(stretch=stretch)
    return {
        "figure": lambda ending: context.bank.picture(name, look=look, **given).as_bytes(ending),
        "plot_command": context.plot_command(name, given, stretch=stretch),
    }


def _steps(context: RequestContext, run: str | None) -> dict[str, Any]:
    """The checkpoints of the training that the run is of, and the place of its own among them."""
    rows = context.bank.connection.execute(
        registry.internal_statement("contents/checkpoints"), {"run": run}
    ).fetchall()
    if len(rows) < 2:
        return {}
    asked = {key: value for key, value in context.given.items() if key != "run"}
    steps = [{"step": step, "href": link("/", run=name, **asked)} for step, name in rows]
    return {"steps": steps, "at_step": [name for _, name in rows].index(run)}


def view_map(context: RequestContext, shown: dict[str, Any]) -> None:
    """Show the map of figure 6, on which each head is a link."""
    shown |= {"wide": _WIDE, "high": _HIGH, "points": []}
    answer = context.query("figure_6", run=context.run_name)
    given = {"run": answer.run_name}
    shown |= {"rows": answer.frame, "command": context.rows_command("figure_6", given)}
    rows = answer.frame.to_dicts()
    found = encodings(in_order(sorted({str(row["behaviour"]) for row in rows})))
    marks = {kind: (colours.kind(look), look.shape) for kind, look in found.items()}
    shown |= {
        "answered": answer.run_name,
        "points": _points_of_heads(rows, marks),
        "kinds": [(*mark, label_of(kind)) for kind, mark in marks.items()],
        "mark": _MARK,
        "table": context.table(answer.frame),
        "to_head": lambda name: link(f"/head/{name}", run=context.run_name),
        "rows_of_layers": _by_layer(rows, marks),
    }
    shown |= _figure(context, "figure_6", given)


def _by_layer(
    rows: list[dict[str, Any]], marks: dict[str, tuple[str, str]]
) -> list[tuple[int, list[tuple[str, str, str, str]]]]:
    """Each layer with its heads: name, behaviour, colour class and shape."""
    found: dict[int, list[tuple[str, str, str, str]]] = {}
    for row in sorted(rows, key=lambda row: (row["layer"], row["head"])):
        kind = str(row["behaviour"])
        name = f"{row['layer']}-{row['head']}"
        found.setdefault(row["layer"], []).append((name, label_of(kind), *marks[kind]))
    return list(found.items())


def overview(context: RequestContext, shown: dict[str, Any]) -> None:
    """Show each head by the relation that it finds most above the best fixed offset."""
    shown |= {"layers": [], "min_count": context.number("min_count", 100, 1, 1_000_000_000)}
    given: dict[str, Any] = {"run": context.run_name}
    if "min_count" in context.given:
        given["min_count"] = shown["min_count"]
    found = context.query("best_relation", **given)
    frame, given = found.frame, given | {"run": found.run_name}
    shown |= {"rows": frame, "answered": found.run_name}
    shown["command"] = context.rows_command("best_relation", given)
    shown["is_empty"] = not frame.height
    if not frame.height:
        return
    rows = frame.to_dicts()
    certain = [row for row in rows if is_significant(row["p_corrected"])]
    ends = ends_of([row["gain"] for row in certain], None)
    layers: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        told, relation = "no relation significantly above an offset", None
        if is_significant(row["p_corrected"]):
            relation = row["relation"]
            told = (
                f"{relation}, {row['accuracy']:.3f}, {row['gain']:.3f} above offset {row['offset']}"
            )
        layers.setdefault(row["layer"], []).append(
            {
                "name": f"{row['layer']}-{row['head']}", "told": told, "label": relation,
                "relation": row["relation"], "direction": row["direction"],
                "value": None if relation is None else row["gain"],
            }
        )  # fmt: skip
    run = context.run_name
    shown |= {
        "layers": list(layers.items()),
        "ends": ends,
        "certain": len(certain),
        "heads": len(rows),
        "tried": rows[0]["tried"],
        "to_head": lambda cell: link(
            f"/head/{cell['name']}", run=run, relation=cell["relation"], direction=cell["direction"]
        ),
        "table": context.table(frame),
    }
    shown |= _figure(context, "best_relation", given)


def _points_of_heads(
    rows: list[dict[str, Any]], marks: dict[str, tuple[str, str]]
) -> list[tuple[str, str, float, float, str, str]]:
    """Each head: name, behaviour, x and y in pixels of one scale, colour class and shape."""
    if not rows:
        return []
    xs, ys = [row["x"] for row in rows], [row["y"] for row in rows]
    wide, high = max(xs) - min(xs) or 1.0, max(ys) - min(ys) or 1.0
    scale = min((_WIDE - 2 * _EDGE) / wide, (_HIGH - 2 * _EDGE) / high)
    left, top = (_WIDE - wide * scale) / 2, (_HIGH - high * scale) / 2
    return [
        (
            f"{row['layer']}-{row['head']}",
            label_of(str(row["behaviour"])),
            left + (row["x"] - min(xs)) * scale,
            top + (max(ys) - row["y"]) * scale,
            *marks[str(row["behaviour"])],
        )
        for row in rows
    ]


def compare(context: RequestContext, shown: dict[str, Any]) -> None:
    """Show the two runs that the address names, or the bank's own choice, side by side."""
    runs = [context.text_parameter(name) or None for name in ("run_a", "run_b")]
    colouring = Colouring.from_address(context)
    shown |= {
        "run_a": runs[0],
        "run_b": runs[1],
        "colouring": colouring,
        "measures": [name for name in measures() if not name.startswith("probe")],
        "titles": _titles(),
    }
    try:
        frame = context.query("compare_runs", run_a=runs[0], run_b=runs[1]).frame
        if frame.height:
            runs = [runs[0] or frame["run_a"][0], runs[1] or frame["run_b"][0]]
        shown |= {"table": context.table(frame, hides=("run_a", "run_b")), "rows": frame}
        given = {"run_a": runs[0], "run_b": runs[1]}
        shown["command"] = context.rows_command("compare_runs", given)
        shown |= _figure(context, "compare_runs", given)
    except AttnbankError as error:
        shown["error"] = error
    shown["sides"] = sides = [_grid_of_run(context, run, colouring) for run in runs]
    # One scale for both, so that the colours can be compared.
    shown["ends"] = scale_of_grids([each["grid"] for each in sides if "grid" in each], colouring)


def _grid_of_run(context: RequestContext, run: str | None, colouring: Colouring) -> dict[str, Any]:
    if run is None:
        return {"run": "no second run", "why": "Choose a second run."}
    try:
        made = grid(context, run, colouring)
    except AttnbankError as error:
        return {"run": run, "why": f"{error.fact} {error.remedy}"}
    return {"run": run, "grid": made, "to_head": colouring.to_head(run)}
