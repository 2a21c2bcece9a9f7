"""Draw each kind of chart: coloured cells (grid, matrix), points, lines, bars and maps.

A new kind is a function here with its entry in KINDS, and says in sql/header.py (`_NEEDED`, `Plot`)
what its header line needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnbank.queries.pictures.encodings import OTHER
from attnbank.queries.pictures.panels import (
    MARK,
    NAME,
    PLACE,
    SIGNIFICANT,
    VALUE,
    ChartParts,
    Row,
    Scene,
    Spec,
    X,
    Y,
    add_label_column,
    amount_color,
    amounts_axis,
    axis_title,
    finite_numbers,
    is_amount,
    kind_colors,
    label_axes,
    layer,
    legend_label,
    names_axis,
    panel_title,
    row_label,
    row_labels,
    words_of_name,
    wrap_pixels,
)

_CELL: Spec = {"type": "rect"}

# In one of several panels, grids with more rows have flat cells.
_MANY_ROWS = 16


def draw_grid(scene: Scene) -> ChartParts:
    """Draw cells coloured by one or several columns, a panel for each column.

    The names in column `text` are in the cells if there is one panel, otherwise in their own panel.
    """
    plot, size = scene.plot, scene.size
    x_labels, y_labels = label_axes(scene, plot.x, plot.y)
    columns = plot.color
    is_categorical = not is_amount(scene.rows, columns[0])
    is_named = bool(plot.text or plot.label) and not columns[1:]
    step = _cell_width(scene, len(x_labels), len(y_labels), is_named=is_named)
    panel_labels = [row_label(row, plot.y) for row in scene.panel_rows]
    if max(map(len, y_labels)) > 3:  # names differ by panel; numbers are the same, to compare
        y_labels = [name for name in y_labels if name in set(panel_labels)]
    height = _cell_height(scene, step, x_labels, y_labels, is_named=is_named)
    axes = {
        "x": names_axis(scene, x_labels, axis_title(scene, plot.x), X, step),
        "y": names_axis(scene, y_labels, axis_title(scene, plot.y), Y, height),
    }
    panels = []
    has_several = bool(columns[1:])
    for column in columns:
        title = axis_title(scene, (column,), 72 if has_several else 44)
        if is_categorical:
            field, values = add_label_column(scene.rows, column)
            color = kind_colors(scene, field, values, words_of_name(column))["color"]
        else:
            color = amount_color(
                scene, columns, column, None if has_several else wrap_pixels(scene, title, 160)
            )
        cells = layer(_CELL, {**axes, "color": color, "tooltip": scene.tooltip})
        if is_named:
            cells = {"layer": [cells, *_name_layers(scene, axes, step, height, column)]}
        unit = scene.unit({"step": step}, {"step": height}, view=scene.background, **cells)
        if has_several:
            unit["title"] = panel_title(title, scene.theme, step * len(x_labels), scene.look.font)
        panels.append(unit)
    if plot.text and not is_named and any(row[plot.text] for row in scene.rows):
        panels.append(_panel_of_names(scene, axes, step, height, step * len(x_labels)))
    # Cells without a row are grey, like those with null.
    has_gaps = any(row[column] is None for row in scene.rows for column in columns)
    has_gaps |= len(panel_labels) < len(x_labels) * len(y_labels)
    notes = ["Grey: no value"] if has_gaps else []
    if plot.significant:
        tried = scene.rows[0].get("tried")
        after = f", corrected for {tried:,} tests" if tried else ""
        notes.append(
            f"Coloured: {len(scene.coloured)} of {len(scene.rows):,} with p < {SIGNIFICANT:g}"
            f"{after}; the others are grey"
        )
    if not is_categorical:
        notes += [note for column in columns for note in _pale_notes(scene, column)]
    if plot.scale == "sqrt":
        notes.append("Colour scale: square root")
    per_row = len(panels) if len(panels) < 4 else 2
    return ChartParts(panels, min(per_row, size.beside or per_row), step * len(x_labels), notes)


# Share of a fixed scale below which colours are hard to tell from that of its low end.
_PALE_SHARE = 0.1

# Shares below this are rounding errors.
_ROUNDING = 1e-6

# The cells that a note names if their colours are too pale.
_MAX_NAMED_CELLS = 3


def _pale_notes(scene: Scene, column: str) -> list[str]:
    """Notes about a column whose cells all have the colour of 0, or nearly."""
    rows = [row for row in scene.panel_rows if row[column] is not None]
    amounts = [row[column] for row in rows]
    if not amounts or min(amounts) < 0:
        return []
    ends, title = scene.scale_ends((column,)), axis_title(scene, (column,), 72)
    if max(amounts) < _ROUNDING:
        return [f"{title}: all 0" if not any(amounts) else f"{title}: all below {_ROUNDING:g}"]
    if scene.plot.domain is None or max(amounts) >= ends[0] + _PALE_SHARE * (ends[-1] - ends[0]):
        return []
    highest = sorted(rows, key=lambda row: -row[column])[:_MAX_NAMED_CELLS]
    cells = ", ".join(
        f"{row[Y]}{'-' if scene.plot.x == ('head',) else ', '}{row[X]} {row[column]:.3g}"
        for row in highest
    )
    return [f"{title}: the highest are {cells} (--stretch spreads the colours)"]


# Pixels of a grid with names in its cells.
_MAX_GRID_WIDTH = 1000.0

# The width of an average letter in ems.
_LETTER = 0.54


def _cell_width(scene: Scene, columns: int, rows: int, *, is_named: bool) -> float:
    """The width of cells, with room for their names (`is_named`) as far as the page allows."""
    if scene.size.width:
        return scene.size.width / columns
    width = min(26.0, max(5.0, float(300 // columns)))  # whole pixels, or seams show
    if is_named:
        longest = max((len(_first_name_of_cell(scene, row)) for row in scene.coloured), default=0)
        name_width = (longest + 1) * _LETTER * scene.look.scaled_font(0.72)
        width = max(width, min(name_width, _MAX_GRID_WIDTH / columns, 64.0))
    if scene.plot.panel and rows > _MANY_ROWS and not is_named:
        width = min(width, round(1.5 * scene.look.font))
    return width


def _first_name_of_cell(scene: Scene, row: Row) -> str:
    """The first of a cell's names in column `text`; by default, the columns of `label`."""
    if scene.plot.text is None:
        return row_label(row, scene.plot.label)
    return str(row[scene.plot.text] or "").partition(", ")[0]


# Names are shown only in cells with room for this many letters.
_MIN_LETTERS = 3


def _name_layers(scene: Scene, axes: Spec, step: float, height: float, column: str) -> list[Spec]:
    """The layer of names in the cells of a column of amounts; [] if cells are too small."""
    theme = scene.theme
    font = min(scene.look.scaled_font(0.72), height * 0.7)
    letters = int(step / (_LETTER * font))
    if letters < _MIN_LETTERS:
        return []
    for row in scene.rows:
        name = _first_name_of_cell(scene, row)
        row[MARK] = name
        if len(name) > letters:  # a word is cut; a number that is cut would be another one
            row[MARK] = f"{name[: letters - 1]}." if scene.plot.text else ""
    ends = scene.scale_ends((column,))
    least = ends[0] if len(ends) == 2 else 0.0
    strong = f"abs(datum['{column}'] - {least}) > {0.55 * (ends[-1] - least)}"
    color = {"condition": {"test": strong, "value": theme.background}, "value": theme.ink}
    mark = {"type": "text", "fontSize": font, "baseline": "middle"}
    encoding = {**axes, "text": {"field": MARK, "type": "nominal"}, "color": color}
    return [layer(mark, encoding)]


def _cell_height(
    scene: Scene, step: float, x_labels: list[str], y_labels: list[str], *, is_named: bool
) -> float:
    """The height of cells: square for heads; high enough for the label, if it is a word."""
    if scene.size.height:
        return scene.size.height / len(y_labels)
    if max(map(len, y_labels)) > 3:
        height = 1.36 * scene.look.font
    elif scene.plot.panel and len(y_labels) > _MANY_ROWS:
        height = min(step, scene.look.font)
    else:
        height = step if len(x_labels) <= 30 else min(20.0, max(5.0, 300 // len(y_labels)))
    return min(height, 26.0) if is_named else height


def _panel_of_names(scene: Scene, axes: Spec, step: float, height: float, width: float) -> Spec:
    """A panel whose cells show the first of their names, and how many more there are."""
    column = scene.plot.text
    assert column is not None, "the header names it"
    font = min(scene.look.scaled_font(0.64), height * 0.7)
    letters = max(1, int(step / (_LETTER * font)))
    has_several = any(", " in str(row[column]) for row in scene.rows)
    for row in scene.rows:
        first, *more = str(row[column]).split(", ")
        row[MARK] = first if len(first) <= letters else f"{first[: letters - 1]}."
        row[MARK] += f"\n+{len(more)}" if more and height >= 2.4 * font else "+" * bool(more)
    has_name = {"filter": f"datum.{column} !== null"}  # Vega's `valid` rejects texts
    fill = {**_CELL, "color": scene.theme.sequence[1], "stroke": scene.theme.background}
    text = {"type": "text", "fontSize": font, "lineBreak": "\n", "baseline": "middle",
            "dy": -0.5 * font if height >= 2.4 * font else 0}  # fmt: skip
    layers = [layer(fill, {**axes, "tooltip": scene.tooltip}, has_name)]
    title = axis_title(scene, (column,), 60)
    if not has_several:
        title = title.removesuffix(" (+ others)")
    if letters >= _MIN_LETTERS:
        layers.append(layer(text, {**axes, "text": {"field": MARK, "type": "nominal"}}, has_name))
    unit = scene.unit({"step": step}, {"step": height}, view=scene.background, layer=layers)
    unit["title"] = panel_title(title, scene.theme, width, scene.look.font)
    return unit


# A matrix with at most this many rows has wide cells, with room for names on both sides.
_FEW_ROWS = 12


def draw_matrix(scene: Scene) -> ChartParts:
    """Draw a symmetric matrix of distances, ordered by clusters."""
    plot, size = scene.plot, scene.size
    column = plot.color[0]
    names = row_labels(
        [
            dict(zip(plot.x, (row[column] for column in side), strict=True))
            for row in scene.rows
            for side in (plot.x, plot.y)
        ],
        plot.x,
    )
    index_of = {name: at for at, name in enumerate(names)}
    distances = np.full((len(names), len(names)), np.inf)
    for row in scene.rows:
        row[X], row[Y] = row_label(row, plot.x), row_label(row, plot.y)
        value = np.inf if row[column] is None else row[column]
        first, second = index_of[row[X]], index_of[row[Y]]
        distances[first, second] = distances[second, first] = value
    order = [names[at] for at in cluster_order(distances)]
    step = (size.width or 560) / len(order)
    height = (size.height or size.width or 560) / len(order)
    if size.width is None:
        # There are many heads, but few corpora.
        step = height = min(14.0 if len(order) > _FEW_ROWS else 36.0, max(8.0, step // 1))
    # Layer-head of layer_a and head_a.
    names_title = words_of_name("-".join(column.removesuffix("_a") for column in plot.x))
    x_axis, y_axis = (
        names_axis(scene, order, names_title, field, room)
        for field, room in ((X, step), (Y, height))
    )
    title = wrap_pixels(scene, axis_title(scene, (column,)), 160)
    color = amount_color(scene, (column,), column, title)
    shared = {"color": color, "tooltip": scene.tooltip}
    sides = [
        layer(_CELL, {"x": {**x_axis, "field": x}, "y": {**y_axis, "field": y}, **shared})
        for x, y in ((X, Y), (Y, X))
    ]
    unit = scene.unit({"step": step}, {"step": height}, view=scene.background, layer=sides)
    return ChartParts([unit], 1, step * len(order), ["Ordered by clusters (average linkage)"])


def cluster_order(distances: NDArray[np.float64]) -> list[int]:
    """Order items by hierarchical clustering (average linkage) of a symmetric distance matrix.

    The two nearest clusters are merged repeatedly, of equally near ones the first. Of the four ways
    to put two clusters side by side, the one with the nearest touching ends is used.
    """
    count = len(distances)
    orders: dict[int, list[int]] = {leaf: [leaf] for leaf in range(count)}
    between = distances.astype(np.float64)
    np.fill_diagonal(between, np.inf)
    sizes = np.ones(count)
    while len(orders) > 1:
        first, second = sorted(divmod(int(np.argmin(between)), count))
        if first == second:
            # argmin of infinities: no finite distance is left, so keep the order of the rows.
            break
        left, right = orders[first], orders.pop(second)
        ways = [(a, b) for a in (left, left[::-1]) for b in (right, right[::-1])]
        ends = min(ways, key=lambda way: distances[way[0][-1], way[1][0]])
        orders[first] = ends[0] + ends[1]
        weights = sizes[first], sizes[second]
        merged = (weights[0] * between[first] + weights[1] * between[second]) / sum(weights)
        between[first, :] = between[:, first] = merged
        between[second, :] = between[:, second] = between[first, first] = np.inf
        sizes[first] += sizes[second]
    return [leaf for order in orders.values() for leaf in order]


# Fields computed by Vega; in one specification, two transforms must not write the same field.
MEAN, RULE = "mean of rows", "rule value"

_ORDER: Spec = {"order": {"field": PLACE, "type": "quantitative"}}


def draw_points(scene: Scene) -> ChartParts:
    """Draw a point for each row, and a line through the mean of the points at each x."""
    colors, groups, x, y, fold = _line_channels(scene)
    mean = {
        "aggregate": [{"op": "mean", "field": y["field"], "as": MEAN}],
        "groupby": [X, PLACE, *groups],
    }
    dots = layer(
        {"type": "point", "filled": True, "size": 34 * scene.look.scale, "opacity": 0.7},
        {"x": x, "y": y, **_point_colors(colors), "tooltip": scene.tooltip},
        *fold,
    )
    means = layer(
        {"type": "line", "strokeWidth": 2},
        {"x": x, "y": {**y, "field": MEAN}, **_line_colors(colors), **_ORDER},
        *fold,
        mean,
    )
    return _single_panel(scene, [dots, means, *_rule_layers(scene, x, y)], ["Lines: means"])


def draw_lines(scene: Scene) -> ChartParts:
    """Draw a line for each category or column, with a mark for each row."""
    plot = scene.plot
    colors, _, x, y, fold = _line_channels(scene)
    line = layer(
        {"type": "line", "strokeWidth": 1.8},
        {"x": x, "y": y, **_line_colors(colors), **_ORDER},
        *fold,
    )
    dots = layer(
        {"type": "point", "filled": True, "size": 48},
        {"x": x, "y": y, **_point_colors(colors), "tooltip": scene.tooltip},
        *fold,
    )
    layers, notes = [line, dots, *_rule_layers(scene, x, y)], []
    if plot.low and plot.high:
        color = {"color": colors["color"]} if plot.color else {}
        interval = layer(
            {"type": "rule", "strokeWidth": 1.5, "color": scene.theme.palette[0]},
            {"x": x, "y": {**y, "field": plot.low}, "y2": {"field": plot.high}, **color},
        )
        layers.insert(0, interval)
        notes = [f"Vertical lines: {_describe_interval(scene, plot.low)}"]
    return _single_panel(scene, layers, notes)


def _describe_interval(scene: Scene, low: str) -> str:
    """What an interval is, from the help of the column of its lower end."""
    meaning = scene.help(low).split(";")[0]
    return meaning.removeprefix("lower end of ").removeprefix("the ").removeprefix("its ")


# Pixels of a panel of points or lines.
_PANEL_WIDTH = 440


def _line_channels(scene: Scene) -> tuple[Spec, list[str], Spec, Spec, list[Spec]]:
    """What lines and points share: colours, fields to group by, both axes, and the fold."""
    plot = scene.plot
    domain, _ = label_axes(scene, plot.x, plot.x)
    if plot.along == "log":
        x = _logarithmic(scene)
    else:
        step = (scene.size.width or _PANEL_WIDTH) / len(domain)
        x = names_axis(scene, domain, axis_title(scene, plot.x), X, step)
        x["axis"] |= {"domain": True, "tickColor": scene.theme.ink}
        x["scale"] |= {"type": "point", "padding": 0.5}
    title = axis_title(scene, plot.y)
    if len(plot.y) > 1:  # columns of one unit, which is the title
        unit = _unit_of(scene.help(plot.y[0])) or "value"
        title = words_of_name("share" if unit.startswith("share") else unit)
    amounts = (*plot.y, *filter(None, (plot.rule, plot.low, plot.high)))
    title_lines = wrap_pixels(scene, title, 0.5 * (scene.size.width or _PANEL_WIDTH))
    y = amounts_axis(scene, plot.y[0], amounts, title=title_lines)
    if len(plot.y) > 1:
        colors = kind_colors(scene, NAME, list(plot.y), None)
        return colors, [NAME], x, {**y, "field": VALUE}, [_folded(plot.y)]
    if not plot.color:
        return {"color": {"value": scene.theme.palette[0]}}, [], x, y, []
    source, values = add_label_column(scene.rows, plot.color[0])
    panel_labels = row_labels(scene.panel_rows, plot.color[:1])
    return kind_colors(scene, source, values, None, panel_labels), [source], x, y, []


def _unit_of(help: str) -> str | None:
    """The unit that a column's help names: nats, or a share in [0, 1]; None if it names none."""
    match = re.search(r"\bin (nats[^;,]*|\[0, 1\])", help)
    if match is None:
        return None
    return "share, in [0, 1]" if match[1].startswith("[") else match[1]


def _point_colors(colors: Spec) -> Spec:
    return {channel: how for channel, how in colors.items() if channel != "strokeDash"}


def _line_colors(colors: Spec) -> Spec:
    return {channel: how for channel, how in colors.items() if channel != "shape"}


def _logarithmic(scene: Scene) -> Spec:
    """An axis of amounts that is logarithmic from 1 on and linear from 0 to 1."""
    column = scene.plot.x[0]
    largest = max((abs(amount) for amount in finite_numbers(scene.rows, (column,))), default=1.0)
    ticks = [0, *(10**power for power in range(math.floor(math.log10(max(largest, 1.0))) + 1))]
    return {
        "field": column,
        "type": "quantitative",
        "scale": {"type": "symlog", "constant": 1, "nice": False},
        "axis": {"title": axis_title(scene, scene.plot.x), "values": ticks, "grid": False,
                 "domain": True, "tickColor": scene.theme.ink},
    }  # fmt: skip


def _folded(columns: tuple[str, ...]) -> Spec:
    return {"fold": list(columns), "as": [NAME, VALUE]}


def _rule_layers(scene: Scene, x: Spec, y: Spec) -> list[Spec]:
    """The layers of a dashed line for the column `rule`, with its label."""
    rule = scene.plot.rule
    if rule is None:
        return []
    mean = {"aggregate": [{"op": "mean", "field": rule, "as": RULE}], "groupby": [X, PLACE]}
    last = {"filter": {"field": PLACE, "equal": max(row[PLACE] for row in scene.rows)}}
    text = {"align": "right", "dy": -7, "dx": 12, "text": rule.replace("_", " ")}
    at = {"x": x, "y": {**y, "field": RULE}}
    dashed = {"type": "line", "strokeDash": [5, 4], "color": scene.theme.ink}
    return [layer(dashed, {**at, **_ORDER}, mean), layer({"type": "text", **text}, at, mean, last)]


def _single_panel(scene: Scene, layers: list[Spec], notes: list[str]) -> ChartParts:
    width = scene.size.width or _PANEL_WIDTH
    height = scene.size.height or (scene.size.width or _PANEL_WIDTH) * 0.52
    unit = scene.unit(width, height, layer=layers)
    return ChartParts([unit], 1, width, notes, ("color", "shape"))


# Pixels of a panel of bars.
_BARS_WIDTH = 380

# The field of the label at the end of a bar.
ASIDE = "aside label"


def draw_bars(scene: Scene) -> ChartParts:
    """Draw a bar for each row, its interval, and marks for the columns that it is compared with."""
    plot, theme = scene.plot, scene.theme
    # Where all are of the class "all", that does not tell bars apart.
    named = tuple(name for name in plot.y if {row[name] for row in scene.rows} != {"all"})
    named = named or plot.y
    for row in scene.rows:
        row[MARK] = row_label(row, named)
        if plot.label and all(row[column] is not None for column in plot.label):
            row[MARK] += f"  {row_label(row, plot.label)}"
    bar_labels = list(dict.fromkeys(row[MARK] for row in scene.panel_rows))
    if all(re.fullmatch(r"-?\d+", label) for label in bar_labels):  # distances
        bar_labels.sort(key=int)
    step = scene.size.height / len(bar_labels) if scene.size.height else 1.9 * scene.look.font
    y_axis = names_axis(scene, bar_labels, axis_title(scene, named), MARK, step)
    if plot.label:
        y_axis["title"] = f"{axis_title(scene, named)}, {'-'.join(plot.label)}"
    amounts = (plot.x[0], *plot.beside, *filter(None, (plot.low, plot.high)))
    title = wrap_pixels(scene, axis_title(scene, plot.x), scene.size.width or _BARS_WIDTH)
    x_axis = amounts_axis(scene, plot.x[0], amounts, title=title, orient="bottom")
    if len(scene.scale_ends(amounts)) == 3:
        x_axis["axis"]["tickCount"] = 5  # of more, some have no label, and one of them is 0
    bar: Spec = {"type": "bar", "color": theme.bar, "height": {"band": 0.7}}
    layers = [layer(bar, {"x": x_axis, "y": y_axis, "tooltip": scene.tooltip})]
    notes = [f"Bars: {legend_label(scene, plot.x[0])}"] if plot.beside else []
    if plot.low and plot.high:
        ends = {"x": {**x_axis, "field": plot.low}, "x2": {"field": plot.high}, "y": y_axis}
        rule = {"type": "rule", "color": theme.ink, "strokeWidth": 1.6, "clip": True}
        layers.append(layer(rule, ends))
        notes.append(f"Lines: {_describe_interval(scene, plot.low)}")
    if plot.beside:
        colors = kind_colors(scene, NAME, [plot.x[0], *plot.beside], None, list(plot.beside))
        for channel in ("color", "shape"):
            colors[channel]["legend"] |= {"orient": "top", "offset": 4}
            if scene.look.width is not None:  # above the bars, there is room for one column only
                colors[channel]["legend"]["columns"] = 1
        dot = {"type": "point", "filled": True, "size": 74 * scene.look.scale, "opacity": 1,
               "stroke": theme.background, "strokeWidth": 1}  # fmt: skip
        encoding = {"x": {**x_axis, "field": VALUE}, "y": y_axis, **_point_colors(colors)}
        layers.append(layer(dot, encoding, _folded(plot.beside)))
    width = scene.size.width or _BARS_WIDTH
    # In a column of a paper, only the first of these fits beside the bars.
    label_columns = plot.aside[: 1 if scene.look.width else None]
    if label_columns:
        for row in scene.rows:
            row[ASIDE] = ", ".join(
                (value if isinstance(value, str) else f"{column} {value:,}").replace("-", "\u2212")
                for column in label_columns
                if (value := row[column]) is not None
            )
        text = {"type": "text", "align": "left", "fontSize": scene.look.scaled_font(0.9),
                "color": theme.ink}  # fmt: skip
        encoding = {
            "x": {"value": width + 8},
            "y": y_axis,
            "text": {"field": ASIDE, "type": "nominal"},
        }
        layers.append(layer(text, encoding))
    return ChartParts([scene.unit(width, {"step": step}, layer=layers)], 1, width, notes)


def draw_scatter(scene: Scene) -> ChartParts:
    """Draw a map with equal scales on both axes, once for each column of colours."""
    plot, theme = scene.plot, scene.theme
    default_size = 540 if plot.label else 430
    width = scene.size.width or default_size
    height = scene.size.height or scene.size.width or default_size
    axes = _true_to_scale(scene, width, height)
    panels = []
    for row in scene.rows:
        row[MARK] = row_label(row, plot.label) if plot.label else ""
    for column in plot.color:
        edge: Spec = {}
        if is_amount(scene.rows, column):
            # Without an outline, the lightest colours would be invisible on paper.
            edge = {"stroke": theme.ink, "strokeWidth": 0.5}
            colors = {"color": amount_color(scene, (column,), column, words_of_name(column))}
            amounts = finite_numbers(scene.rows, (column,))
            if column in ("layer", "head") and min(amounts) < max(amounts):  # 1-based: no 0
                colors["color"]["scale"]["domain"] = [min(amounts), max(amounts)]
                colors["color"]["legend"]["tickMinStep"] = 1
        else:
            colors = kind_colors(
                scene, *add_label_column(scene.rows, column), words_of_name(column)
            )
        dot = {
            "type": "point",
            "filled": True,
            "size": 70 * scene.look.scale,
            "opacity": 0.9,
            **edge,
        }
        layers = [layer(dot, {**axes, **_point_colors(colors), "tooltip": scene.tooltip})]
        if plot.label:
            font = scene.look.scaled_font(0.82)
            text: Spec = {"type": "text", "dy": -9, "fontSize": font, "opacity": 0.85}
            named_rows = [row for row in scene.rows if str(row[column]) not in OTHER]
            # In a column of a paper there is no room for the names of all heads.
            is_full = scene.look.width is not None and 0 < len(named_rows) < len(scene.rows)
            only_named = [
                {"filter": {"field": column, "oneOf": sorted({row[column] for row in named_rows})}}
            ]
            encoding = {**axes, "text": {"field": MARK, "type": "nominal"}}
            layers.append(layer(text, encoding, *(only_named if is_full else [])))
        unit = scene.unit(width, height, layer=layers)
        if len(plot.color) > 1:
            unit["title"] = panel_title(
                f"By {column.replace('_', ' ')}", theme, width, scene.look.font
            )
        panels.append(unit)
    return ChartParts(panels, min(2, scene.size.beside or 2), width, [], ("color", "shape"))


def _true_to_scale(scene: Scene, width: float, height: float) -> dict[str, Any]:
    """Both axes of a map, with the same number of units per pixel."""
    sides = {"x": (scene.plot.x, width), "y": (scene.plot.y, height)}
    ends = {}
    for channel, (columns, _) in sides.items():
        coordinates = finite_numbers(scene.rows, columns[:1]) or [0.0]
        ends[channel] = min(coordinates), max(coordinates)
    unit = 1.08 * max((ends[at][1] - ends[at][0]) / 2 / sides[at][1] for at in sides) or 1 / width
    axes = {}
    for channel, (columns, pixels) in sides.items():
        middle = sum(ends[channel]) / 2
        domain = [middle - unit * pixels, middle + unit * pixels]
        axes[channel] = {
            "field": columns[0],
            "type": "quantitative",
            "scale": {"domain": domain, "nice": False, "zero": False},
            "axis": {"title": wrap_pixels(scene, axis_title(scene, columns), width), "grid": False},
        }
    return axes


KINDS: dict[str, Callable[[Scene], ChartParts]] = {
    "grid": draw_grid,
    "points": draw_points,
    "bars": draw_bars,
    "lines": draw_lines,
    "scatter": draw_scatter,
    "matrix": draw_matrix,
}
