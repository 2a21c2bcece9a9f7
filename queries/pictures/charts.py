"""Turn an analysis and its rows into a Vega-Lite specification, or an Altair chart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from attnbank.queries.pictures.encodings import category_label
from attnbank.queries.pictures.kinds import KINDS
from attnbank.queries.pictures.panels import (
    MARK,
    ChartParts,
    Row,
    Scene,
    Size,
    Spec,
    escape_harmful,
    panel_title,
    row_label,
    short_text,
    vega_rows,
    words_of_name,
    wrap_characters,
)
from attnbank.queries.pictures.rendering import picture_size, render, warn_if_long
from attnbank.queries.pictures.theme import POINTS, Look, theme_of, vega_config
from attnbank.sql.errors import CallError, QueryError, require_extra
from attnbank.sql.header import Analysis, Plot, ResultColumn
from attnbank.sql.messages import join_names
from attnbank.sql.registry import all_analyses

_CORPORA = ("corpus", "corpus_a", "corpus_b")
_RUNS = ("run", "run_a", "run_b", "train_run", "test_run")

# A subtitle lists this many names of one kind.
_MAX_NAMES = 6


@dataclass(frozen=True)
class ChartFacts:
    """What the subtitle of a picture names.

    `models` are names of folders, `corpora` include their sizes, `parameters` are those that were
    set, except the run. All names are foreign text, and are escaped.
    """

    runs: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def lines(self, width: int) -> list[str]:
        """Run, model and corpus, then the parameters, in lines of about `width` characters."""
        parts = [
            _label_with_names("run", self.runs),
            _label_with_names("model", self.models),
            _label_with_names("corpus", self.corpora, "corpora"),
        ]
        for name, value in self.parameters.items():
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            parts.append(f"{name.replace('_', ' ')}: {short_text(text)}")
        lines: list[str] = []
        for part in filter(None, parts):
            if lines and len(lines[-1]) + len(part) + 3 <= width:
                lines[-1] += f" · {part}"
            else:
                lines += wrap_characters(f"{part[:1].upper()}{part[1:]}", width)
        return lines


def chart_facts(
    frame: pl.DataFrame, runs: pl.DataFrame, parameters: Mapping[str, Any], also: Iterable[str] = ()
) -> ChartFacts:
    """The facts of the runs that a frame names and of the runs `also`; by default of all `runs`.

    `runs` is the frame of `Bank.runs`. Corpora are those of the runs, and those that `frame` names.
    """
    run_names = tuple(dict.fromkeys((*runs_named(frame, _RUNS), *also)))
    selected = runs.filter(pl.col("name").is_in(run_names)) if run_names else runs
    corpora = runs_named(frame, _CORPORA)
    # Of a model in a folder, the last part.
    models = [re.split(r"[/\\]", name.rstrip("/\\"))[-1] or name for name in selected["model"]]
    return ChartFacts(
        run_names,
        tuple(dict.fromkeys(models)),
        tuple(
            _corpus_with_size(selected, corpus)
            for corpus in dict.fromkeys((*selected["corpus"], *corpora))
        ),
        {
            name: value
            for name, value in parameters.items()
            if value is not None and not (name == "run" or name.startswith("run_"))
        },
    )


def _corpus_with_size(runs: pl.DataFrame, corpus: str) -> str:
    """The name of a corpus, with its size if all runs read the same amount of it."""
    sizes = runs.filter(pl.col("corpus") == corpus).select("sentences", "words").unique().rows()
    name = short_text(corpus)
    return f"{name} ({sizes[0][0]:,} sentences, {sizes[0][1]:,} words)" if len(sizes) == 1 else name


def runs_named(frame: pl.DataFrame, columns: Iterable[str]) -> tuple[str, ...]:
    """The distinct names in some columns of a frame, ignoring columns that it lacks."""
    present = [column for column in columns if frame.schema.get(column) == pl.String]
    return tuple(dict.fromkeys(name for column in present for name in frame[column].drop_nulls()))


def _label_with_names(kind: str, names: Iterable[str], plural: str | None = None) -> str:
    """`corpus a`, `corpora a, b` or `corpora a, b, c and 2 more`; "" for no names."""
    shown_names = [short_text(name) for name in names]
    if not shown_names:
        return ""
    more = f" and {len(shown_names) - _MAX_NAMES} more" if len(shown_names) > _MAX_NAMES else ""
    word = kind if len(shown_names) == 1 else plural or f"{kind}s"
    return f"{word} {', '.join(shown_names[:_MAX_NAMES])}{more}"


# The limits of one picture; more would be unreadable.
MOST_PANELS = 24
MOST_LAYERS = 128
MOST_VALUES = 12
MOST_BARS = 80
MOST_BARS_OF_PANEL = 20
MOST_ROWS = 100_000

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

# Pixels around a picture that has a title.
PADDING = 12

# The kind of picture that `Bank.show` draws.
SENTENCES = "sentences"


def altair_chart(specification: Spec) -> Any:
    """The Altair chart of a specification, displayed as SVG. Raises MissingPackageError."""
    require_extra("A picture", "plot", "altair", "vl_convert")
    import altair

    chart = altair.Chart.from_dict(specification)

    def as_svg(*_: Any, **__: Any) -> dict[str, str]:
        return {"image/svg+xml": render(chart.to_dict(), ".svg").decode()}

    # By default, Altair's display loads scripts from the network. Its classes intercept setattr.
    object.__setattr__(chart, "_repr_mimebundle_", as_svg)
    return chart


def specification(
    analysis: Analysis,
    frame: pl.DataFrame,
    facts: ChartFacts | None = None,
    theme: str = "light",
    size: Size | None = None,
    look: Look | None = None,
) -> Spec:
    """The Vega-Lite specification of the picture of an analysis, including its data.

    `frame` has the rows of the analysis, which become the dataset `rows`; `facts` are for the
    subtitle; `theme` is one of THEMES. Raises CallError if the analysis has no picture, the theme
    is unknown, or there are too many panels or rows; QueryError if there is nothing to draw.
    """
    plot, colours, look = check_has_picture(analysis), theme_of(theme), look or Look()
    if plot.kind == SENTENCES:
        raise CallError(
            f"{analysis.name} is drawn over sentences: it has no Vega-Lite specification.",
            f"Type: attnbank plot {analysis.name} -o {analysis.name}.svg",
        )
    rows, notes = _rows_to_draw(analysis, plot, frame)
    scene = Scene(analysis, plot, rows, colours, size or Size(), look)
    chart = _all_panels(scene)
    notes += chart.notes
    if len(chart.panels) == 1 and "title" in chart.panels[0]:
        # A single panel has no title of its own: it becomes a note.
        title = " ".join(chart.panels[0].pop("title")["text"])
        notes.insert(0, f"{words_of_name(', '.join(plot.panel))}: {title}" if plot.panel else title)
    columns = min(chart.columns, len(chart.panels))
    # A letter is about 0.6 of the font size wide, in titles a little more.
    width = look.width or columns * (chart.width + 60) + 60
    characters = max(32, int(width / (0.64 * look.font)))
    facts = facts or ChartFacts()
    facts = replace(facts, parameters={**_constants(plot, analysis, rows), **facts.parameters})
    subtitle = facts.lines(int(characters * 1.25))
    note_text = ". ".join(notes) + "." if notes else ""
    if notes:
        subtitle += wrap_characters(note_text, int(characters * 1.25))
    counts = [row["n"] for row in rows if isinstance(row.get("n"), int)]
    meta = {
        "title": _title(analysis),
        "facts": facts.lines(10_000),
        "notes": note_text,
        "n": [min(counts), max(counts)] if counts else [],
    }
    return {
        **with_heading(meta, wrap_characters(_title(analysis), characters), subtitle, theme, look),
        "data": {"name": "rows"},
        "datasets": {"rows": rows},
        **_in_one_view(chart, columns, look),
    }


def with_heading(
    meta: Mapping[str, Any], title: list[str], subtitle: list[str], theme: str, look: Look
) -> Spec:
    """The specification of a picture without its charts; `meta` is what its caption says."""
    heading = {
        "text": title,
        "subtitle": subtitle or [""],
        "anchor": "start",
        "frame": "bounds",
        "fontSize": look.font + (3 if look.width is None else 1),
        "subtitleFontSize": look.font,
        "subtitlePadding": 4,
        "offset": 14,
    }
    return {
        "$schema": SCHEMA,
        "usermeta": meta,
        **({"title": heading} if look.is_titled else {"description": meta["title"]}),
        "config": vega_config(theme_of(theme), look),
        "padding": PADDING if look.is_titled else 2,
    }


def _in_one_view(chart: ChartParts, columns: int, look: Look) -> Spec:
    """The only panel, or all of them side by side with the scales that they share."""
    if len(chart.panels) == 1:
        return chart.panels[0]
    resolve = dict.fromkeys(chart.independent_scales, "independent")
    return {
        "concat": chart.panels,
        "columns": columns,
        "spacing": 26 if look.width is None else 12,
        "resolve": {"scale": {"color": "shared", "shape": "shared"} | resolve},
    }


def _rows_to_draw(
    analysis: Analysis, plot: Plot, frame: pl.DataFrame
) -> tuple[list[Row], list[str]]:
    """The rows of a picture as JSON values, and notes on those that it leaves out.

    Raises CallError for too many rows, QueryError if there is nothing to draw.
    """
    if not frame.height:
        why = f": {analysis.empty}" if analysis.empty else "."
        raise QueryError(f"{analysis.name} has no rows to draw{why}")
    if (error := why_not_drawn(analysis, frame)) is not None:
        raise error
    if frame.height > MOST_ROWS:
        raise CallError(
            f"{analysis.name} has {frame.height:,} rows; a picture can show at most {MOST_ROWS:,}.",
            "Narrow it down with its options.",
        )
    rows, notes = _drawable(plot, vega_rows(frame))
    if plot.kind == "bars":
        rows = _first_bars(plot, rows, notes)
    if plot.kind == "lines":
        rows = _trim_tail(plot, rows, notes)
    if plot.panel and any(parameter.name == plot.panel[0] for parameter in analysis.parameters):
        rows = _first_panels(plot, rows, notes)
    if not rows:
        raise QueryError(f"{analysis.name} has no values to draw: all are null.")
    return rows, notes


def why_not_drawn(analysis: Analysis, frame: pl.DataFrame) -> QueryError | None:
    """The error for a comparison of corpora with rows of one corpus; None if it can be drawn."""
    # One without a parameter run compares runs.
    if not {"corpora", "run"} <= {parameter.name for parameter in analysis.parameters} or (
        not frame.height
    ):
        return None
    corpora = frame["corpora"].max() if "corpora" in frame.columns else None
    if "corpus" in frame.columns:
        corpora = frame["corpus"].n_unique()
    if corpora != 1:
        return None
    return QueryError(
        f"The picture of {analysis.name} compares corpora, but all its rows are of one.",
        "Ingest another corpus with the same model, or draw: attnbank plot best_head -o"
        " best_head.svg",
    )


_MAX_TRIES = 8

# The least width of a panel with its labels, as a multiple of the font size.
_MIN_PANEL = 14


def fit_to_column(
    analysis: Analysis, frame: pl.DataFrame, facts: ChartFacts, theme: str, look: Look
) -> Spec:
    """The specification of a picture that is as wide as a column of a paper, `look.width`.

    The width of axes and legends is known only once they are drawn, so panel widths are tried
    until the picture fits. Raises as `specification`, also MissingPackageError without vl-convert,
    and CallError if the column is too narrow.
    """
    assert look.width is not None, "a column has a width"
    require_extra("A picture for a column", "plot", "vl_convert")
    width = look.width
    panels = len(specification(analysis, frame, facts, theme, None, look).get("concat", [1]))
    for per_row in range(max(1, min(panels, int(width / (_MIN_PANEL * look.font)))), 0, -1):
        drawn = fit_width(
            lambda size: specification(analysis, frame, facts, theme, size, look), look, per_row
        )
        if drawn is None or (per_row > 1 and _lacks_names(analysis, drawn)):
            continue  # one panel in a row has wider cells
        warn_if_long(picture_size(drawn)[1], _options_to_shorten(analysis))
        return drawn
    raise too_narrow(analysis.name, width)


def fit_width(draw: Callable[[Size], Spec], look: Look, per_row: int) -> Spec | None:
    """The picture whose panels, `per_row` of them, fill the column; None if it is too narrow."""
    assert look.width is not None, "a column has a width"
    panel = look.width / per_row - 6 * look.font
    for _ in range(_MAX_TRIES):
        drawn = draw(Size(panel, beside=per_row))
        missing = look.width - picture_size(drawn)[0]
        if abs(missing) < 0.5:
            return drawn
        panel += missing / drawn.get("columns", 1)
        if panel < 2 * look.font:  # axes and legends leave no room
            break
    return None


def too_narrow(name: str, width: float) -> CallError:
    """The error for a picture that does not fit in a column of so many points."""
    return CallError(
        f"{name} does not fit in a column of {width / POINTS:.2f} inches.",
        "Give a wider one (--column 6.75in), or smaller letters (--font-size 7).",
    )


def _lacks_names(analysis: Analysis, drawn: Spec) -> bool:
    """Whether some cells of a grid are too narrow for the names that belong in them."""
    plot = analysis.plot
    is_named = plot is not None and plot.kind == "grid" and plot.label
    return bool(is_named) and not all(row.get(MARK) for row in drawn["datasets"]["rows"])


# Parameters that reduce the rows of a picture, and an option to suggest.
_SHORTENING_OPTIONS = (
    ("relation", "--relation obj"), ("min_count", "--min-count 100"), ("most", "--most 3"),
    ("direction", "--direction dependent_to_head"), ("head", "--head 3-1"),
)  # fmt: skip


def _options_to_shorten(analysis: Analysis) -> str:
    """The options of an analysis that make its picture shorter, joined by "or"."""
    parameters = {parameter.name for parameter in analysis.parameters}
    return " or ".join(typed for name, typed in _SHORTENING_OPTIONS if name in parameters)


# Columns that say no more than the name of the corpus.
_SKIPPED_CONSTANTS = ("language", "sent_id")


def _constants(plot: Plot, analysis: Analysis, rows: list[Row]) -> dict[str, Any]:
    """What all rows have in common and no axis shows: head, relation, direction, and so on."""
    shown_columns = {
        *plot.x, *plot.y, *plot.color, *plot.panel, *plot.label, *plot.beside, *plot.aside,
    }  # fmt: skip
    constants: dict[str, Any] = {}
    columns = {column.name for column in analysis.columns}
    if {"layer", "head"} <= columns - shown_columns:
        heads = {(row["layer"], row["head"]) for row in rows}
        if len(heads) == 1 and None not in (*heads,)[0]:
            constants["head"] = "{}-{}".format(*heads.pop())
    for parameter in analysis.parameters:  # rows without a column relation do not say theirs
        is_all = parameter.default == "null" and "by default all" in parameter.help
        if parameter.name == "relation" and is_all and "relation" not in columns:
            constants["relation"] = "all"
    for column in analysis.columns:
        name = column.name
        if column.type != "varchar" or name not in rows[0]:
            continue
        if name in {*shown_columns, plot.text, *_RUNS, *_CORPORA}:
            continue
        values = {row[name] for row in rows}
        if len(values) == 1 and None not in values and not name.startswith(_SKIPPED_CONSTANTS):
            constants[name] = category_label(str(values.pop()))
    return constants


def check_has_picture(analysis: Analysis) -> Plot:
    """The picture that the header declares. Raises CallError if there is none."""
    if analysis.plot is None:
        names = [
            candidate.name for candidate in all_analyses().values() if candidate.plot is not None
        ]
        raise CallError(
            f"{analysis.name} has no picture.", f"Analyses with a picture: {', '.join(names)}."
        )
    return analysis.plot


def _title(analysis: Analysis) -> str:
    """The title without a final parenthesis, and for a view without "as points"."""
    title = re.sub(r" \([^()]*\)$", "", escape_harmful(analysis.title))
    return title.replace(" as points:", ":", 1) if analysis.is_view else title


def _drawable(plot: Plot, rows: list[Row]) -> tuple[list[Row], list[str]]:
    """Drop rows with null on an axis, and add a note; a grid shows null, as the last value."""
    needed = set(plot.panel)
    if plot.kind != "grid":
        needed |= {*plot.x, *plot.y[:1]} - {"longest"}  # a range may have no end
    drawable = [row for row in rows if all(row[column] is not None for column in needed)]
    left = len(rows) - len(drawable)
    if not left:
        return drawable, []
    missing = [
        column
        for column in dict.fromkeys((*plot.panel, *plot.x, *plot.y))
        if column in needed and any(row[column] is None for row in rows)
    ]
    names = " or ".join(column.replace("_", " ") for column in missing)
    return drawable, [f"Omitted: {left} row{'' if left == 1 else 's'} without {names}"]


def _first_bars(plot: Plot, rows: list[Row], notes: list[str]) -> list[Row]:
    """Keep the first bars of each panel if there are too many, and add a note."""
    max_bars = MOST_BARS_OF_PANEL if plot.panel else MOST_BARS
    counts: Counter[tuple[Any, ...]] = Counter()
    first_rows = []
    for row in rows:
        panel = tuple(row[column] for column in plot.panel)
        counts[panel] += 1
        if counts[panel] <= max_bars:
            first_rows.append(row)
    if len(first_rows) < len(rows):
        each_panel = " of each panel" if len(counts) > 1 else ""
        notes.append(
            f"The first {max_bars} bars{each_panel}; omitted: {len(rows) - len(first_rows):,}"
        )
    return first_rows


# The end of a line is cut where it stays below this share of its largest amount.
_TAIL = 0.01

# Points of a line that are never cut.
_MIN_PLACES = 5


def _trim_tail(plot: Plot, rows: list[Row], notes: list[str]) -> list[Row]:
    """Cut the end of a single line over integers, where it is nearly 0, and add a note."""
    (x, *more_x), (y, *more_y) = plot.x, plot.y
    x_values = [row[x] for row in rows]
    is_one_line = not (more_x or more_y or plot.color or plot.panel)
    if not (is_one_line and all(isinstance(at, int) for at in x_values)):
        return rows
    largest = max((abs(row[y]) for row in rows if row[y] is not None), default=0.0)
    visible = [row[x] for row in rows if row[y] is not None and abs(row[y]) > _TAIL * largest]
    last = max(max(visible, default=0), (sorted(x_values)[:_MIN_PLACES] or [0])[-1])
    kept_rows = [row for row in rows if row[x] <= last]
    tail = [row[y] or 0.0 for row in rows if row[x] > last]
    if tail:
        notes.append(
            f"Omitted: {x.replace('_', ' ')} {min(at for at in x_values if at > last)} to"
            f" {max(x_values)}, where it is at most {max(tail):.3g}"
        )
    return kept_rows


def _first_panels(plot: Plot, rows: list[Row], notes: list[str]) -> list[Row]:
    """Keep the most frequent values (by `n`) of the first panel column if there are too many."""
    name = plot.panel[0]
    frequency: dict[Any, float] = {}
    panels: dict[Any, set[tuple[Any, ...]]] = {}
    for row in rows:
        value = row[name]
        frequency[value] = max(frequency.get(value, 0), row.get("n") or 0)
        panels.setdefault(value, set()).add(tuple(row[column] for column in plot.panel))
    if len(panels) == 1 or "n" not in rows[0]:
        return rows
    ranked = sorted(frequency, key=lambda value: -frequency[value])  # ties in the order of the rows
    rank_of = {value: at for at, value in enumerate(ranked)}
    counts = [len(combinations) * _panels_per_value(plot) for combinations in panels.values()]
    max_values = min(MOST_VALUES, MOST_PANELS // max(counts, default=1))
    if sum(counts) <= MOST_PANELS or max_values < 1:
        return sorted(rows, key=lambda row: rank_of[row[name]])
    kind, typed = f"{name.replace('_', ' ')}s", name.replace("_", "-")
    notes.append(
        f"The most frequent {max_values} of {len(frequency)} {kind}; choose one:"
        f" --{typed} ({name}=)"
    )
    frequent = [row for row in rows if rank_of[row[name]] < max_values]
    return sorted(frequent, key=lambda row: rank_of[row[name]])


def _panels_per_value(plot: Plot) -> int:
    per_grid = len(plot.color) + (plot.text is not None)
    return {"grid": per_grid, "scatter": len(plot.color)}.get(plot.kind, 1)


def _all_panels(scene: Scene) -> ChartParts:
    plot = scene.plot
    draw = KINDS[plot.kind]
    if not plot.panel:
        return draw(scene)
    values = dict.fromkeys(tuple(row[column] for column in plot.panel) for row in scene.rows)
    per_value = _panels_per_value(plot)
    # Panels of layers are small grids, and none may be missing.
    max_panels = MOST_LAYERS if plot.panel == ("layer",) else MOST_PANELS
    if len(values) * per_value > max_panels:
        raise _too_many_panels(scene, len(values) * per_value)
    charts = []
    for value in values:
        chosen = dict(zip(plot.panel, value, strict=True))
        panel_scene = replace(scene, panel_values=chosen)
        chart = draw(panel_scene)
        panel_label = ", ".join(
            _panel_name(scene.column(name), chosen[name]) for name in plot.panel
        )
        counts = {row.get("n") for row in panel_scene.panel_rows}
        if not plot.aside and len(counts) == 1 and counts != {None}:  # no column shows it
            panel_label += f" (n {counts.pop():,})"
        for unit in chart.panels:
            own_title = " ".join(unit["title"]["text"]) if "title" in unit else ""
            title = f"{panel_label}: {own_title}" if own_title else panel_label
            unit["title"] = panel_title(title, scene.theme, chart.width, scene.look.font)
        charts.append(chart)
    first = charts[0]
    columns = first.columns * _panels_per_row(
        plot, values, per_value, first.width, scene.size.beside
    )
    panels = [unit for chart in charts for unit in chart.panels]
    return ChartParts(panels, columns, first.width, first.notes, first.independent_scales)


# Pixels of a row of panels.
_MAX_ROW_WIDTH = 1500


def _panels_per_row(
    plot: Plot,
    values: dict[tuple[Any, ...], None],
    per_value: int,
    width: float,
    max_per_row: int | None,
) -> int:
    """The number of panels side by side; values of the last panel column stay in one row."""
    if plot.kind in ("points", "lines", "bars") or per_value > 1:
        return 1
    fit = max_per_row or max(1, int(_MAX_ROW_WIDTH / (width + 60)))
    last = len({value[-1] for value in values})
    if len(plot.panel) > 1 and last <= fit:
        return last * (fit // last)
    # Nearly square: four panels are two rows of two.
    return min(fit, {1: 1, 2: 2, 3: 3, 4: 2}.get(len(values), 3 if len(values) <= 9 else 4))


def _panel_name(column: ResultColumn, value: Any) -> str:
    """The meaning of a panel's value in the header, by default the value itself."""
    text = row_label({column.name: value}, (column.name,))
    meaning = re.search(rf"(?:^|[\s,]){re.escape(text)} \(([^()]*)\)", escape_harmful(column.help))
    if meaning is not None and isinstance(value, str):
        return f"{meaning[1][:1].upper()}{meaning[1][1:]}"
    return short_text(text).replace("_", " ") if isinstance(value, str) else f"{column.name} {text}"


def _too_many_panels(scene: Scene, count: int) -> CallError:
    analysis, plot = scene.analysis, scene.plot
    remedy = f"Choose fewer values of {', '.join(plot.panel)}."
    for name in reversed(plot.panel):
        values = dict.fromkeys(str(row[name]) for row in scene.rows)
        if len(values) > 1 and any(parameter.name == name for parameter in analysis.parameters):
            option = f"--{name.replace('_', '-')}, {name}="
            remedy = f"Choose one ({option}): {join_names(list(values), 20)}."
    why = f"{analysis.name} would have {count} panels; the maximum is {MOST_PANELS}."
    return CallError(why, remedy)
