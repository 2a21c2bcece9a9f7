"""Pictures of coloured cells: grids of layers by heads, and matrices of pairs."""

from __future__ import annotations

import numpy as np

from attnbank.queries.pictures.ordering import by_cluster
from attnbank.queries.pictures.parts import (
    Drawn,
    Scene,
    Spec,
    X,
    Y,
    amount_color,
    clean,
    is_amount,
    kind_colors,
    names_axis,
    panel_title,
    rows_in,
    words,
    wrapped,
)
from attnbank.queries.pictures.rows import label, labels

_GREY = "Grey: no value"


def grid(scene: Scene, panel: list[Spec]) -> Drawn:
    """Draw cells in the colours of one or several columns, each of which has a panel of its own.

    `panel` are the filters of Vega-Lite that leave the rows of this panel.
    """
    plot, size = scene.plot, scene.size
    across, down = scene.mark(plot.x, plot.y)
    columns = plot.color
    kinds = not is_amount(scene.rows, columns[0])
    wide = (size.width or 300) / len(across)
    step = wide if size.width else min(26.0, max(5.0, wide // 1))  # else seams show
    high = size.height / len(down) if size.height else _height(step, across, down)
    here = [label(row, plot.y) for row in rows_in(scene.rows, panel)]
    if max(map(len, down)) > 3:  # names: a panel has its own; numbers stay comparable
        down = [each for each in down if each in set(here)]
    panels = []
    for column in columns:
        title = scene.caption((column,), 44)
        if kinds:
            source, values = clean(scene.rows, column)
            color = kind_colors(scene, source, values, words(column))["color"]
        else:
            shown = None if len(columns) > 1 else wrapped(title, 26)
            color = amount_color(scene, columns, column, shown)
        unit: Spec = {
            "transform": panel,
            "width": {"step": step},
            "height": {"step": high},
            "view": {"fill": scene.theme.missing, "stroke": scene.theme.faint},
            "mark": {"type": "rect"},
            "encoding": {
                "x": names_axis(across, scene.caption(plot.x), is_across=True, theme=scene.theme),
                "y": names_axis(down, scene.caption(plot.y), is_across=False, theme=scene.theme),
                "color": color,
                "tooltip": scene.tooltip,
            },
        }
        if len(columns) > 1:
            unit["title"] = panel_title(title, scene.theme, step * len(across))
        panels.append(unit)
    # Each combination of the two axes that a panel does not have is grey, as is each null.
    whole = len(across) * len(down)
    has_gaps = any(row[each] is None for row in scene.rows for each in columns)
    notes = [_GREY] if has_gaps or len(here) < whole else []
    if plot.scale == "sqrt":
        notes.append("Colours by the square root")
    return Drawn(panels, _beside(len(columns)), step * len(across), notes)


def _height(step: float, across: list[str], down: list[str]) -> float:
    """How high a cell is: square for heads; high enough for its name, where it is a word."""
    if max(map(len, down)) > 3:
        return 15.0
    return step if len(across) <= 30 else min(20.0, max(5.0, 300 // len(down)))


_FEW = 12
"""Rows of a matrix up to which its cells are wide enough for a name."""


def _beside(count: int) -> int:
    return count if count < 4 else 2


def matrix(scene: Scene, panel: list[Spec]) -> Drawn:
    """Every pair of things, on both sides of the diagonal; things that are near stand together."""
    plot, size = scene.plot, scene.size
    column = plot.color[0]
    names = labels(
        [
            dict(zip(plot.x, (row[each] for each in side), strict=True))
            for row in scene.rows
            for side in (plot.x, plot.y)
        ],
        plot.x,
    )
    place = {name: at for at, name in enumerate(names)}
    distances = np.full((len(names), len(names)), np.inf)
    for row in scene.rows:
        row[X], row[Y] = label(row, plot.x), label(row, plot.y)
        value = np.inf if row[column] is None else row[column]
        first, second = place[row[X]], place[row[Y]]
        distances[first, second] = distances[second, first] = value
    order = [names[at] for at in by_cluster(distances)]
    step = (size.width or 560) / len(order)
    high = (size.height or 560) / len(order)
    if size.width is None:
        # Heads are many and small; a few corpora have room for their names on both sides.
        step = high = min(14.0 if len(order) > _FEW else 36.0, max(3.0, step // 1))
    title = scene.caption((column,))
    axes: list[Spec] = [
        names_axis(order, _thing(plot.x), is_across=is_across, theme=scene.theme)
        for is_across in (True, False)
    ]
    color = amount_color(scene, (column,), column, wrapped(title, 26))
    sides: list[Spec] = [
        {
            "mark": {"type": "rect"},
            "encoding": {
                "x": {**axes[0], "field": first},
                "y": {**axes[1], "field": second},
                "color": color,
                "tooltip": scene.tooltip,
            },
        }
        for first, second in ((X, Y), (Y, X))
    ]
    unit: Spec = {
        "transform": panel,
        "width": {"step": step},
        "height": {"step": high},
        "view": {"fill": scene.theme.missing, "stroke": scene.theme.faint},
        "layer": sides,
    }
    return Drawn([unit], 1, step * len(order), ["Ordered by clusters (average linkage)"])


def _thing(columns: tuple[str, ...]) -> str:
    """What both axes show: `Layer-head` of layer_a and head_a."""
    return words("-".join(each.removesuffix("_a") for each in columns))
