"""The one door: an analysis and its rows become a Vega-Lite specification, or an Altair chart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import polars as pl

from attnbank.queries.pictures.facts import Facts
from attnbank.queries.pictures.grids import grid, matrix
from attnbank.queries.pictures.marks import bars, lines, points, scatter
from attnbank.queries.pictures.parts import (
    Drawn,
    Scene,
    Size,
    Spec,
    panel_title,
    shown_name,
    words,
    wrapped,
)
from attnbank.queries.pictures.rows import Row, harmless, label, rows_of
from attnbank.queries.pictures.theme import THEMES, config
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.extras import need
from attnbank.sql.header import Analysis, Column, Plot
from attnbank.sql.registry import every
from attnbank.sql.suggest import listed

MOST_PANELS = 24
MOST_VALUES = 12
MOST_BARS = 80
MOST_BARS_OF_PANEL = 20
MOST_ROWS = 100_000
"""What one picture holds; more is a wall that nobody reads."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_KINDS: dict[str, Callable[[Scene, list[Spec]], Drawn]] = {
    "grid": grid,
    "points": points,
    "bars": bars,
    "lines": lines,
    "scatter": scatter,
    "matrix": matrix,
}


def draw(
    analysis: Analysis,
    frame: pl.DataFrame,
    facts: Facts | None = None,
    theme: str = "light",
    size: Size | None = None,
) -> Any:
    """The picture as an Altair chart, which a notebook draws.

    Raises as `specification` does, MissingPackageError where Altair is not installed.
    """
    need("A picture", "altair")
    import altair

    return altair.Chart.from_dict(specification(analysis, frame, facts, theme, size))


def specification(
    analysis: Analysis,
    frame: pl.DataFrame,
    facts: Facts | None = None,
    theme: str = "light",
    size: Size | None = None,
) -> Spec:
    """The Vega-Lite specification of the picture of an analysis, with its rows in it.

    `frame` are rows of the analysis, `facts` the names for the subtitle, `theme` is light or dark.
    The rows stand in `datasets` under the name `rows`, with the columns of the analysis. Raises
    CallError where it has no picture, the theme is unknown, or there are too many panels;
    QueryError where there is nothing to draw.
    """
    plot = check_has_picture(analysis)
    if theme not in THEMES:
        raise CallError(f"There is no theme {theme}.", f"The themes: {', '.join(THEMES)}.")
    look = THEMES[theme]
    if not frame.height:
        why = f": {analysis.empty}" if analysis.empty else "."
        raise QueryError(f"{analysis.name} has no rows to draw{why}")
    if frame.height > MOST_ROWS:
        raise CallError(
            f"{analysis.name} has {frame.height:,} rows; a picture shows {MOST_ROWS:,} at most.",
            "Ask for fewer, with its options.",
        )
    rows, notes = _drawable(plot, rows_of(frame))
    for choose in (_first_bars, _first_panels):
        rows, more = choose(analysis, rows)
        notes += more
    if not rows:
        raise QueryError(f"{analysis.name} has no values to draw: all of them are missing.")
    scene = Scene(analysis, plot, rows, look, size or Size())
    drawn = _all_panels(scene)
    notes += drawn.notes
    if len(drawn.panels) == 1 and "title" in drawn.panels[0]:
        # The title of the picture takes its place.
        told = " ".join(drawn.panels[0].pop("title")["text"])
        notes.insert(0, f"{words(', '.join(plot.panel))}: {told}" if plot.panel else told)
    across = min(drawn.columns, len(drawn.panels))
    characters = max(56, int((across * (drawn.width + 60) + 60) / 7))
    lines_ = [
        *(facts or Facts()).lines(int(characters * 1.25)),
        *wrapped(". ".join(notes) + "." if notes else "", int(characters * 1.25)),
    ]
    resolve = dict.fromkeys(drawn.apart, "independent")
    body: Spec = {
        "concat": drawn.panels,
        "columns": across,
        "spacing": 26,
        "resolve": {"scale": {"color": "shared", "shape": "shared"} | resolve},
    }
    if len(drawn.panels) == 1:
        body = drawn.panels[0]
    return {
        "$schema": SCHEMA,
        "title": {
            "text": wrapped(_title(analysis), characters),
            "subtitle": [each for each in lines_ if each] or [""],
            "anchor": "start",
            "frame": "bounds",
            "fontSize": 14,
            "subtitleFontSize": 11,
            "subtitlePadding": 4,
            "offset": 14,
        },
        "config": config(look),
        "padding": 12,
        "data": {"name": "rows"},
        "datasets": {"rows": rows},
        **body,
    }


def check_has_picture(analysis: Analysis) -> Plot:
    """Return what the header says of its picture. Raises CallError where it has none."""
    if analysis.plot is None:
        those = [each.name for each in every().values() if each.plot is not None]
        raise CallError(
            f"{analysis.name} has no picture.", f"Those that have one: {', '.join(those)}."
        )
    return analysis.plot


def _title(analysis: Analysis) -> str:
    """The title of the analysis, without what stands in brackets at its end.

    A figure of the paper that is "as points" in a table is the figure itself here.
    """
    title = re.sub(r" \([^()]*\)$", "", harmless(analysis.title))
    return title.replace(" as points:", ":", 1) if analysis.is_view else title


def _drawable(plot: Plot, rows: list[Row]) -> tuple[list[Row], list[str]]:
    """The rows that have a place in the picture, and a word about the others.

    A grid has a place for what has no layer or head, the last one. Points and lines have none.
    """
    needed = set(plot.panel)
    if plot.kind != "grid":
        needed |= {*plot.x, *plot.y[:1]}
    kept = [row for row in rows if all(row[each] is not None for each in needed)]
    left = len(rows) - len(kept)
    if not left:
        return kept, []
    missing = [
        each
        for each in dict.fromkeys((*plot.panel, *plot.x, *plot.y))
        if each in needed and any(row[each] is None for row in rows)
    ]
    those = " or ".join(each.replace("_", " ") for each in missing)
    return kept, [f"Left out: {left} row{'' if left == 1 else 's'} without {those}"]


def _first_bars(analysis: Analysis, rows: list[Row]) -> tuple[list[Row], list[str]]:
    """The first bars of each panel, as many as people look at, and a word about the others."""
    plot = check_has_picture(analysis)
    if plot.kind != "bars":
        return rows, []
    counts: Counter[tuple[Any, ...]] = Counter()
    kept = []
    most = MOST_BARS_OF_PANEL if plot.panel else MOST_BARS
    for row in rows:
        panel = tuple(row[each] for each in plot.panel)
        counts[panel] += 1
        if counts[panel] <= most:
            kept.append(row)
    if len(kept) == len(rows):
        return rows, []
    each_panel = " of each panel" if len(counts) > 1 else ""
    told = f"The first {most} bars{each_panel}; left out: {len(rows) - len(kept):,}"
    return kept, [told]


def _first_panels(analysis: Analysis, rows: list[Row]) -> tuple[list[Row], list[str]]:
    """The rows of the most frequent values of the first column of panels, where all are too many.

    The rows say how frequent a value is in their column `n`; one value can be asked for by a
    parameter of the same name. Otherwise, and where there is room, the rows are as they were.
    """
    plot = check_has_picture(analysis)
    name = next(iter(plot.panel), "")
    if not rows or "n" not in rows[0] or name not in {each.name for each in analysis.parameters}:
        return rows, []
    frequency: dict[Any, float] = {}
    panels: dict[Any, set[tuple[Any, ...]]] = {}
    for row in rows:
        value = row[name]
        frequency[value] = max(frequency.get(value, 0), row["n"] or 0)
        panels.setdefault(value, set()).add(tuple(row[each] for each in plot.panel))
    most = max(map(len, panels.values())) * _several(plot)
    room = min(MOST_VALUES, MOST_PANELS // most)
    if sum(map(len, panels.values())) * _several(plot) <= MOST_PANELS or room < 1:
        return rows, []
    ranked = sorted(frequency, key=lambda value: -frequency[value])  # ties in the order of the rows
    kept = set(ranked[:room])
    those = f"{name.replace('_', ' ')}s"
    typed = name.replace("_", "-")
    told = f"The most frequent {room} of {len(frequency)} {those}; one alone: --{typed} ({name}=)"
    return [row for row in rows if row[name] in kept], [told]


def _several(plot: Plot) -> int:
    """How many panels there are for each value of the columns `panel`."""
    return len(plot.color) if plot.kind in ("grid", "scatter") else 1


def _all_panels(scene: Scene) -> Drawn:
    """The panels of a picture, one for each value of the columns `panel`."""
    plot = scene.plot
    make = _KINDS[plot.kind]
    if not plot.panel:
        return make(scene, [])
    values = dict.fromkeys(tuple(row[each] for each in plot.panel) for row in scene.rows)
    several = _several(plot)
    if len(values) * several > MOST_PANELS:
        raise _wall(scene, len(values) * several)
    columns = [next(e for e in scene.analysis.columns if e.name == name) for name in plot.panel]
    made = []
    for value in values:
        chosen = [
            {"filter": {"field": name, "equal": each}}
            for name, each in zip(plot.panel, value, strict=True)
        ]
        drawn = make(scene, chosen)
        told = ", ".join(map(_panel_name, columns, value))
        for unit in drawn.panels:
            own = " ".join(unit["title"]["text"]) if "title" in unit else ""
            title = f"{told}: {own}" if own else told
            unit["title"] = panel_title(title, scene.theme, drawn.width)
        made.append(drawn)
    first = made[0]
    across = first.columns * _beside(plot, values, several)
    panels = [unit for each in made for unit in each.panels]
    return Drawn(panels, across, first.width, first.notes, first.apart)


def _beside(plot: Plot, values: dict[tuple[Any, ...], None], several: int) -> int:
    """How many panels stand side by side."""
    if plot.kind in ("points", "lines", "bars") or several > 1:
        return 1
    last = len({value[-1] for value in values})
    if len(plot.panel) > 1 and last <= 4:
        return last
    return {1: 1, 2: 2, 3: 3, 4: 2}.get(len(values), 3 if len(values) <= 9 else 4)


def _panel_name(column: Column, value: Any) -> str:
    """What a panel is called: its value, or what the header says of it in brackets.

    A number is no name by itself: it stands after that of its column.
    """
    shown = label({column.name: value}, (column.name,))
    meaning = re.search(rf"(?:^|[\s,]){re.escape(shown)} \(([^()]*)\)", harmless(column.help))
    if meaning is not None and isinstance(value, str):
        return f"{meaning[1][:1].upper()}{meaning[1][1:]}"
    return shown_name(shown) if isinstance(value, str) else f"{column.name} {shown}"


def _wall(scene: Scene, count: int) -> CallError:
    """The word about a picture of too many panels, and which option makes it smaller."""
    analysis, plot = scene.analysis, scene.plot
    for name in plot.panel:
        values = dict.fromkeys(str(row[name]) for row in scene.rows)
        if len(values) > 1 and any(each.name == name for each in analysis.parameters):
            return CallError(
                f"{analysis.name} would be {count} panels; a picture has {MOST_PANELS} at most.",
                f"Choose one (--{name.replace('_', '-')}, {name}=): {listed(list(values), 20)}.",
            )
    return CallError(
        f"{analysis.name} would be {count} panels; a picture has {MOST_PANELS} at most.",
        f"Ask for fewer values of {', '.join(plot.panel)}.",
    )
