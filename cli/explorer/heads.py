"""All heads: the grid of layers by heads, the map of similar heads, and two runs compared."""

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
from attnbank.queries.pictures.panels import is_significant
from attnbank.queries.pictures.theme import (
    category_label,
    encodings_of,
    legend_order,
    scale_ends,
    unit_of,
)
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.names import DIRECTIONS
from attnbank.sql.registry import analyses

_WIDE, _HIGH, _EDGE = 960.0, 600.0, 30.0
# Half the width of a mark in pixels.
_MARK = 6.5


@dataclass(frozen=True)
class HeadMeasure:
    """What a grid can be coloured by: a column of an analysis that is plotted as a grid of heads.

    The scale is that of the plot: its fixed `domain`, or the range of its `columns`. Values
    from 0 to 1 are shares. `has_relation` and `has_direction` say whether the analysis takes a
    relation and has a row for each direction.
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


# The usual measures, by their names in an address.
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


@cache
def measures() -> dict[str, HeadMeasure]:
    """All measures: the usual ones, then each column that an analysis plots as a grid of heads."""
    by_name = dict(MEASURES)
    usual = {(measure.analysis, measure.column) for measure in MEASURES.values()}
    for name, analysis in analyses().items():
        plot = analysis.plot
        if plot is None or plot.kind != "grid" or {*plot.panel} - {"direction"}:
            continue
        if not any(parameter.name == "run" for parameter in analysis.parameters):
            continue  # a grid shows one run
        if plot.x not in ((), ("head",)) or plot.y not in ((), ("layer",)):
            continue
        columns = {column.name: column for column in analysis.columns}
        for column in plot.color:
            if columns[column].type == "double" and (name, column) not in usual:
                title = f"{name.replace('_', ' ').capitalize()}: {column.replace('_', ' ')}"
                unit = unit_of(columns[column].help)
                title += f" ({unit})" if unit and plot.domain is None else ""
                by_name[f"{name}.{column}"] = HeadMeasure(title, name, column)
    return {name: _with_scale(measure) for name, measure in by_name.items()}


def _with_scale(measure: HeadMeasure) -> HeadMeasure:
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
    return {name: measure.title for name, measure in measures().items()}


@dataclass(frozen=True)
class Colouring:
    """The colouring of heads that the address requests.

    `stretch` spreads the colours over the values present, so that grids cannot be compared.
    """

    by: str
    relation: str
    direction: str
    stretch: bool

    @classmethod
    def from_address(cls, context: RequestContext) -> Colouring:
        """Read the colouring from the address. Raises CallError for an invalid choice."""
        return cls(
            context.choice_parameter("by", measures()),
            context.text_parameter("relation", "all"),
            context.choice_parameter("direction", DIRECTIONS),
            context.flag("stretch"),
        )

    @property
    def measure(self) -> HeadMeasure:
        """The measure that heads are coloured by."""
        return measures()[self.by]

    @property
    def heading(self) -> str:
        """The heading of a grid."""
        of = f" for {self.relation}" if self.measure.has_relation else ""
        direction = f", {self.direction.replace('_', ' ')}" if self.measure.has_direction else ""
        title = "Accuracy" if self.by == "relation" else self.measure.title
        return f"{title}{of}{direction}"

    def to_head(self, run: str | None) -> Callable[[str], str]:
        """Return a function from a head's name to its address, for the same relation if any."""
        arguments = {"relation": self.relation, "direction": self.direction}
        return lambda name: link(
            f"/head/{name}", run=run, **(arguments if self.measure.has_relation else {})
        )


@dataclass(frozen=True)
class Grid:
    """A grid of heads; `layers` are (layer, a value for each head); `best` has the largest value,
    `top`.

    `amounts` are the values that the colour scale must cover. `rows` are those of the analysis
    for these `arguments`, in one direction if it has several.
    """

    measure: HeadMeasure
    layers: list[tuple[int, list[float | None]]]
    run: str | None
    best: str
    top: float
    amounts: list[float]
    rows: pl.DataFrame
    arguments: dict[str, str | None]


def scale_of_grids(grids: Sequence[Grid], colouring: Colouring) -> list[float]:
    """The ends of the colour scale that grids share, as in `attnbank plot`."""
    if colouring.stretch:
        values = [value for grid in grids for _, row in grid.layers for value in row]
        return scale_ends([value for value in values if value is not None], None, stretch=True)
    amounts = [amount for grid in grids for amount in grid.amounts]
    return scale_ends(amounts, colouring.measure.domain)


def grid(context: RequestContext, run: str | None, colouring: Colouring) -> Grid:
    """Make the grid of a run. Raises what `Bank.query` raises, and CallError if no head has a
    value.
    """
    measure = colouring.measure
    arguments: dict[str, str | None] = {"kind": "all"} if colouring.by == "coreference" else {}
    if colouring.by != "probe" and run is not None:
        arguments["run"] = run
    if measure.has_relation and colouring.by != "relation" and colouring.relation != "all":
        arguments["relation"] = colouring.relation
    answer = context.query(measure.analysis, **arguments)
    frame = answer.frame
    if colouring.by == "relation":
        arguments["relation"] = colouring.relation
        # `attnbank compute` caches all relations of the trees at once, but no saved ones.
        frame = frame.filter(pl.col("relation") == colouring.relation)
        if not frame.height:
            answer = context.query(measure.analysis, **arguments)
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
        [
            (layer, [values.get((layer, head)) for head in heads])
            for layer in sorted(set(frame["layer"]))
        ],
        answer.run_name,
        "{}-{}".format(*best.row(0)),
        best["value"][0] or 0.0,
        amounts,
        answer_rows,
        arguments,
    )


def atlas_view(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show the frame of the atlas, which its modules fill."""


def heads_view(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show the grid of heads."""
    colouring = Colouring.from_address(context)
    variables |= {"measures": list(measures()), "titles": _titles(), "colouring": colouring}
    try:
        head_grid = grid(context, context.run_name, colouring)
    except AttnbankError:
        if "by" in context.parameters or "relation" in context.parameters:
            raise
        # No relation was requested, and the corpus has no trees: show what every run has.
        colouring = replace(colouring, by="previous")
        head_grid = grid(context, context.run_name, colouring)
    variables |= {"ends": scale_of_grids([head_grid], colouring), "rows": head_grid.rows}
    variables |= {
        "colouring": colouring,
        "grid": head_grid,
        "to_head": colouring.to_head(context.run_name),
    }
    name, measure = head_grid.measure.analysis, head_grid.measure
    arguments = head_grid.arguments | ({} if colouring.by == "probe" else {"run": head_grid.run})
    direction = colouring.direction if measure.has_direction else None
    variables["command"] = context.rows_command(name, arguments, direction=direction)
    if why_not_drawn(analyses()[name], head_grid.rows) is None:
        variables |= _figure(context, name, arguments, stretch=colouring.stretch)
    variables |= _checkpoints(context, head_grid.run)


def _figure(
    context: RequestContext, name: str, arguments: Mapping[str, Any], *, stretch: bool = False
) -> dict[str, Any]:
    """The template variables of a plot: a function that renders it, and the command that does."""
    look = Look(stretch=stretch)
    return {
        "figure": lambda ending: context.bank.picture(name, look=look, **arguments).as_bytes(
            ending
        ),
        "plot_command": context.plot_command(name, arguments, stretch=stretch),
    }


def _checkpoints(context: RequestContext, run: str | None) -> dict[str, Any]:
    """The checkpoints of the run's training, and the index of the run among them."""
    rows = context.bank.backend.internal("contents/checkpoints", run=run).rows()
    if len(rows) < 2:
        return {}
    parameters = {key: value for key, value in context.parameters.items() if key != "run"}
    steps = [{"step": step, "href": link("/heads", run=name, **parameters)} for step, name in rows]
    return {"steps": steps, "at_step": [name for _, name in rows].index(run)}


def view_map(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show the heads in the plane of figure 6, each with a link."""
    variables |= {"wide": _WIDE, "high": _HIGH, "points": []}
    answer = context.query("figure_6", run=context.run_name)
    arguments = {"run": answer.run_name}
    variables |= {"rows": answer.frame, "command": context.rows_command("figure_6", arguments)}
    rows = answer.frame.to_dicts()
    encoding_of_kind = encodings_of(legend_order(sorted({str(row["behaviour"]) for row in rows})))
    marks = {kind: (colours.kind(look), look.shape) for kind, look in encoding_of_kind.items()}
    variables |= {
        "answered": answer.run_name,
        "points": _points_of_heads(rows, marks),
        "kinds": [(*mark, category_label(kind)) for kind, mark in marks.items()],
        "mark": _MARK,
        "table": context.table(answer.frame),
        "to_head": lambda name: link(f"/head/{name}", run=context.run_name),
        "rows_of_layers": _by_layer(rows, marks),
    }
    variables |= _figure(context, "figure_6", arguments)


def _by_layer(
    rows: list[dict[str, Any]], marks: dict[str, tuple[str, str]]
) -> list[tuple[int, list[tuple[str, str, str, str]]]]:
    """Group heads by layer: name, behaviour, colour class and shape of each."""
    heads_by_layer: dict[int, list[tuple[str, str, str, str]]] = {}
    for row in sorted(rows, key=lambda row: (row["layer"], row["head"])):
        kind = str(row["behaviour"])
        name = f"{row['layer']}-{row['head']}"
        heads_by_layer.setdefault(row["layer"], []).append(
            (name, category_label(kind), *marks[kind])
        )
    return list(heads_by_layer.items())


def overview(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show each head by the relation that it finds most above the best fixed offset."""
    variables |= {"layers": [], "min_count": context.number("min_count", 100, 1, 1_000_000_000)}
    arguments: dict[str, Any] = {"run": context.run_name}
    if "min_count" in context.parameters:
        arguments["min_count"] = variables["min_count"]
    answer = context.query("best_relation", **arguments)
    frame, arguments = answer.frame, arguments | {"run": answer.run_name}
    variables |= {"rows": frame, "answered": answer.run_name}
    variables["command"] = context.rows_command("best_relation", arguments)
    variables["is_empty"] = not frame.height
    if not frame.height:
        return
    rows = frame.to_dicts()
    certain = [row for row in rows if is_significant(row["p_corrected"])]
    ends = scale_ends([row["gain"] for row in certain], None)
    layers: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        described, relation = "no relation significantly above an offset", None
        if is_significant(row["p_corrected"]):
            relation = row["relation"]
            described = (
                f"{relation}, {row['accuracy']:.3f}, {row['gain']:.3f} above offset {row['offset']}"
            )
        layers.setdefault(row["layer"], []).append(
            {
                "name": f"{row['layer']}-{row['head']}", "told": described, "label": relation,
                "relation": row["relation"], "direction": row["direction"],
                "value": None if relation is None else row["gain"],
            }
        )  # fmt: skip
    run = context.run_name
    variables |= {
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
    variables |= _figure(context, "best_relation", arguments)


def _points_of_heads(
    rows: list[dict[str, Any]], marks: dict[str, tuple[str, str]]
) -> list[tuple[str, str, float, float, str, str]]:
    """The marks of the map: name, behaviour, x and y in pixels, colour class and shape of each
    head.
    """
    if not rows:
        return []
    xs, ys = [row["x"] for row in rows], [row["y"] for row in rows]
    wide, high = max(xs) - min(xs) or 1.0, max(ys) - min(ys) or 1.0
    scale = min((_WIDE - 2 * _EDGE) / wide, (_HIGH - 2 * _EDGE) / high)
    left, top = (_WIDE - wide * scale) / 2, (_HIGH - high * scale) / 2
    return [
        (
            f"{row['layer']}-{row['head']}",
            category_label(str(row["behaviour"])),
            left + (row["x"] - min(xs)) * scale,
            top + (max(ys) - row["y"]) * scale,
            *marks[str(row["behaviour"])],
        )
        for row in rows
    ]


def compare(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show two runs side by side: those of the address, or the defaults."""
    runs = [context.text_parameter(name) or None for name in ("run_a", "run_b")]
    colouring = Colouring.from_address(context)
    variables |= {
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
        variables |= {"table": context.table(frame, hides=("run_a", "run_b")), "rows": frame}
        arguments = {"run_a": runs[0], "run_b": runs[1]}
        variables["command"] = context.rows_command("compare_runs", arguments)
        variables |= _figure(context, "compare_runs", arguments)
    except AttnbankError as error:
        variables["error"] = error
    variables["sides"] = sides = [_grid_of_run(context, run, colouring) for run in runs]
    # One scale for both grids makes colours comparable.
    variables["ends"] = scale_of_grids(
        [side["grid"] for side in sides if "grid" in side], colouring
    )


def _grid_of_run(context: RequestContext, run: str | None, colouring: Colouring) -> dict[str, Any]:
    if run is None:
        return {"run": "no second run", "why": "Choose a second run."}
    try:
        head_grid = grid(context, run, colouring)
    except AttnbankError as error:
        return {"run": run, "why": f"{error.fact} {error.remedy}"}
    return {"run": run, "grid": head_grid, "to_head": colouring.to_head(run)}
