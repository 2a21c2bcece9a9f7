"""Pictures of points, lines and bars."""

from __future__ import annotations

from collections.abc import Sequence

from attnbank.queries.pictures.parts import (
    MARK,
    NAME,
    PLACE,
    VALUE,
    Drawn,
    Scene,
    Spec,
    X,
    amount_color,
    amount_domain,
    clean,
    folded,
    is_amount,
    kind_colors,
    names_axis,
    panel_title,
    rows_in,
    words,
    wrapped,
)
from attnbank.queries.pictures.rows import finite, label, labels


def points(scene: Scene, panel: list[Spec]) -> Drawn:
    """A point for each row, and a line through the means of what stands above each other."""
    drawn, source, across, fold = _along(scene, panel)
    y = _amounts(scene, source)
    means = {
        "transform": [
            *fold,
            {
                "aggregate": [{"op": "mean", "field": source, "as": MEAN}],
                "groupby": [X, PLACE, *drawn["groups"]],
            },
        ],
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {"x": across, "y": {**y, "field": MEAN}, **_by_color(drawn), **_ORDER},
    }
    dots = {
        "transform": fold,
        "mark": {"type": "point", "filled": True, "size": 34, "opacity": 0.7},
        "encoding": {"x": across, "y": y, **drawn["colors"], "tooltip": scene.tooltip},
    }
    layers = [dots, means, *_rules(scene, across, y)]
    return _panel(scene, panel, layers, ["Lines: means"])


def lines(scene: Scene, panel: list[Spec]) -> Drawn:
    """Draw a line for each kind of thing, or each column, with a mark for each row.

    `panel` are the filters of Vega-Lite that leave the rows of this panel.
    """
    drawn, source, across, fold = _along(scene, panel)
    y = _amounts(scene, source)
    line = {
        "transform": fold,
        "mark": {"type": "line", "strokeWidth": 1.8},
        "encoding": {"x": across, "y": y, **_by_color(drawn), **_ORDER},
    }
    dots = {
        "transform": fold,
        "mark": {"type": "point", "filled": True, "size": 48},
        "encoding": {"x": across, "y": y, **drawn["colors"], "tooltip": scene.tooltip},
    }
    layers, notes = [line, dots, *_rules(scene, across, y)], []
    if scene.plot.low and scene.plot.high:
        interval = {
            "mark": {"type": "rule", "strokeWidth": 1.5, "color": scene.theme.palette[0]},
            "encoding": {
                "x": across,
                "y": {**y, "field": scene.plot.low},
                "y2": {"field": scene.plot.high},
            },
        }
        layers.insert(0, interval)
        notes = [f"Upright lines: interval of {scene.plot.y[0].replace('_', ' ')}"]
    return _panel(scene, panel, layers, notes)


MEAN, RULE = "mean of rows", "rule value"
"""Fields of what is computed; two steps that make fields of one name would be taken for one."""
_ORDER = {"order": {"field": PLACE, "type": "quantitative"}}


def _along(scene: Scene, panel: list[Spec]) -> tuple[Spec, str, Spec, list[Spec]]:
    """What lines and points have alike: colours, field of amounts, axis, and folding."""
    plot = scene.plot
    domain, _ = scene.mark(plot.x, plot.x)
    across = names_axis(domain, scene.caption(plot.x), is_across=True, theme=scene.theme)
    across["axis"] |= {"domain": True, "tickColor": scene.theme.ink}
    across["scale"] |= {"type": "point", "padding": 0.5}
    if len(plot.y) > 1:
        colors = kind_colors(scene, NAME, list(plot.y), None)
        return {"colors": colors, "groups": [NAME]}, VALUE, across, [folded(plot.y)]
    if not plot.color:
        only = {"color": {"value": scene.theme.palette[0]}}
        return {"colors": only, "groups": []}, plot.y[0], across, []
    column = plot.color[0]
    source, values = clean(scene.rows, column)
    shown = labels(rows_in(scene.rows, panel), (column,))
    colors = kind_colors(scene, source, values, None, shown=shown)
    return {"colors": colors, "groups": [source]}, plot.y[0], across, []


def _by_color(drawn: Spec) -> Spec:
    return {"color": drawn["colors"]["color"]}


def _amounts(scene: Scene, source: str) -> Spec:
    """The axis of amounts, from below to above."""
    plot = scene.plot
    ends = amount_domain(scene, (*plot.y, *filter(None, (plot.rule, plot.low, plot.high))))
    title = scene.unit(plot.y)
    return {
        "field": source,
        "type": "quantitative",
        "scale": {"domain": [ends[0], ends[-1]], "nice": plot.domain is None},
        "axis": {"title": wrapped(title, 34)},
    }


def _rules(scene: Scene, across: Spec, y: Spec) -> list[Spec]:
    """The dashed line of the column `rule`, with its name."""
    rule = scene.plot.rule
    if rule is None:
        return []
    mean = {"aggregate": [{"op": "mean", "field": rule, "as": RULE}], "groupby": [X, PLACE]}
    last = max(row[PLACE] for row in scene.rows)
    line = {
        "transform": [mean],
        "mark": {"type": "line", "strokeDash": [5, 4], "color": scene.theme.ink},
        "encoding": {"x": across, "y": {**y, "field": RULE}, **_ORDER},
    }
    name = {
        "transform": [mean, {"filter": {"field": PLACE, "equal": last}}],
        "mark": {
            "type": "text",
            "align": "right",
            "dy": -7,
            "dx": 12,
            "text": rule.replace("_", " "),
        },
        "encoding": {"x": across, "y": {**y, "field": RULE}},
    }
    return [line, name]


def _panel(scene: Scene, panel: list[Spec], layers: list[Spec], notes: list[str]) -> Drawn:
    width = scene.size.width or 440
    unit = {
        "transform": panel,
        "width": width,
        "height": scene.size.height or 230,
        "layer": layers,
    }
    return Drawn([unit], 1, width, notes, ("color", "shape"))


def bars(scene: Scene, panel: list[Spec]) -> Drawn:
    """A bar for each thing, its interval, and marks for what it is to be compared with."""
    plot, theme = scene.plot, scene.theme
    for row in scene.rows:
        if plot.label and all(row[each] is not None for each in plot.label):
            row[MARK] = f"{label(row, plot.y)}  {label(row, plot.label)}"
        else:
            row[MARK] = label(row, plot.y)
    here = list(dict.fromkeys(row[MARK] for row in rows_in(scene.rows, panel)))
    down = names_axis(here, scene.caption(plot.y), is_across=False, theme=theme) | {"field": MARK}
    if plot.label:
        down["title"] = f"{scene.caption(plot.y)}, {'-'.join(plot.label)}"
    down["axis"]["labelOverlap"] = False
    shown = (plot.x[0], *plot.beside, *filter(None, (plot.low, plot.high)))
    ends = amount_domain(scene, shown)
    title = scene.caption(plot.x)
    across: Spec = {
        "field": plot.x[0],
        "type": "quantitative",
        "scale": {"domain": [ends[0], ends[-1]], "nice": plot.domain is None},
        "axis": {"title": wrapped(title, 66), "orient": "bottom"},
    }
    layers: list[Spec] = [
        {
            "mark": {
                "type": "bar",
                "color": theme.palette[0],
                "opacity": 0.6,
                "height": {"band": 0.7},
            },
            "encoding": {"x": across, "y": down, "tooltip": scene.tooltip},
        }
    ]
    notes = [f"Bars: {plot.x[0].replace('_', ' ')}"] if plot.beside else []
    if plot.low and plot.high:
        layers.append(
            {
                "mark": {"type": "rule", "color": theme.ink, "strokeWidth": 1.6, "clip": True},
                "encoding": {
                    "x": {**across, "field": plot.low},
                    "x2": {"field": plot.high},
                    "y": down,
                },
            }
        )
        notes.append(
            "Lines: 95 % intervals" if "95 %" in scene.help(plot.low) else "Lines: intervals"
        )
    if plot.beside:
        colors = kind_colors(scene, NAME, [plot.x[0], *plot.beside], None, shown=list(plot.beside))
        edge = {"stroke": theme.background, "strokeWidth": 1}
        layers.append(
            {
                "transform": [folded(plot.beside)],
                "mark": {"type": "point", "filled": True, "size": 74, "opacity": 1, **edge},
                "encoding": {"x": {**across, "field": VALUE}, "y": down, **colors},
            }
        )
    width = scene.size.width or 380
    step = scene.size.height / len(here) if scene.size.height else 21
    unit = {"transform": panel, "width": width, "height": {"step": step}, "layer": layers}
    return Drawn([unit], 1, width, notes)


def scatter(scene: Scene, panel: list[Spec]) -> Drawn:
    """A map: as far apart on paper as in the rows, drawn once for each column of colours."""
    plot, theme = scene.plot, scene.theme
    usual = 540 if plot.label else 430
    width, height = scene.size.width or usual, scene.size.height or usual
    axes = _true_to_scale(scene, width, height)
    panels = []
    for row in scene.rows:
        row[MARK] = label(row, plot.label) if plot.label else ""
    for column in plot.color:
        if is_amount(scene.rows, column):
            colors: Spec = {"color": amount_color(scene, (column,), column, words(column))}
            found = finite(scene.rows, (column,))
            if column in ("layer", "head") and min(found) < max(found):  # 1-based: no 0
                colors["color"]["scale"]["domain"] = [min(found), max(found)]
                colors["color"]["legend"]["tickMinStep"] = 1
        else:
            source, values = clean(scene.rows, column)
            colors = kind_colors(scene, source, values, words(column))
        # The lightest colours would be lost on paper.
        edge = {"stroke": theme.ink, "strokeWidth": 0.5} if "shape" not in colors else {}
        layers: list[Spec] = [
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.9, **edge},
                "encoding": {**axes, **colors, "tooltip": scene.tooltip},
            }
        ]
        if plot.label:
            layers.append(
                {
                    "mark": {"type": "text", "dy": -9, "fontSize": 9, "opacity": 0.85},
                    "encoding": {**axes, "text": {"field": MARK, "type": "nominal"}},
                }
            )
        unit: Spec = {"transform": panel, "width": width, "height": height, "layer": layers}
        if len(plot.color) > 1:
            unit["title"] = panel_title(f"By {column.replace('_', ' ')}", theme, width)
        panels.append(unit)
    return Drawn(panels, 2, width, [], ("color", "shape"))


def _true_to_scale(scene: Scene, width: float, height: float) -> Spec:
    """Both axes, with as many units to a pixel."""
    plot = scene.plot
    spans = []
    for columns in (plot.x, plot.y):
        found = finite(scene.rows, columns[:1]) or [0.0]
        spans.append(((min(found) + max(found)) / 2, (max(found) - min(found)) / 2))
    unit = 1.08 * max(spans[0][1] / width, spans[1][1] / height) or 1 / width
    return {
        channel: {
            "field": columns[0],
            "type": "quantitative",
            "scale": {
                "domain": [middle - unit * pixels, middle + unit * pixels],
                "nice": False,
                "zero": False,
            },
            "axis": {"title": _short(scene, columns), "grid": False},
        }
        for channel, columns, (middle, _), pixels in (
            ("x", plot.x, spans[0], width),
            ("y", plot.y, spans[1], height),
        )
    }


def _short(scene: Scene, columns: Sequence[str]) -> list[str]:
    return wrapped(scene.caption(columns), 60)
