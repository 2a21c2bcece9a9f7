"""A frame as text: a table for people, Markdown, LaTeX (rounded), CSV and JSON (in full)."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from attnbank.sql.ids import BITS, OWNERS, place_of
from attnbank.sql.messages import escape_control, isolated

if TYPE_CHECKING:
    import polars as pl

_GAP = "  "

# Columns of a terminal below which a column of text is not made narrower.
_NARROWEST = 8

# A single row that is wider than this, where there is no terminal, is printed as name and value.
_PAGE = 100

# Characters that LaTeX does not print as they are, and what to write instead.
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}

# Characters that LaTeX would join with the next one, as two hyphens to a dash.
_LIGATURES = re.compile(r"([-`',])(?=\1)|([?!])(?=`)")

# Columns of names, which nobody could type if they were cut short.
_NAMES = frozenset({"run", "corpus", "document", "model", "sentence"})

# P values that are empty below a number of documents or controls, and what to say of them.
_OF_DOCUMENTS = (
    "p is empty where fewer than 5 documents (or sentences: see clustered_by) are tested, or 6 in"
    " two runs: it could never be below 0.05"
)
_FEWEST = (
    ("p_value", "clusters", 6, _OF_DOCUMENTS),
    ("p_corrected", "clusters", 5, _OF_DOCUMENTS),
    ("held_out_p", "clusters", 10, _OF_DOCUMENTS),  # every second document is held out
    ("p", "controls", 19, "p is empty with fewer than 19 random sets (ablate --controls): it could"
     " never be as low as 0.05"),
)  # fmt: skip

# Columns of ids that say where a row stands; those of words have other names in some views.
_PLACED = frozenset({*OWNERS, "dependent", "head"})

# The most values of a second key that become columns of a crosstab.
_MOST_COLUMNS = 12


@dataclass
class FormattedColumn:
    """A column as text: its name and cells, and whether they are numbers."""

    name: str
    cells: list[str]
    is_number: bool

    @property
    def width(self) -> int:
        """The width of its widest cell, in columns of a terminal."""
        return max((display_width(cell) for cell in self.cells), default=0)


def table_lines(
    frame: pl.DataFrame, width: int | None = None, *, wraps: bool = False
) -> Iterator[str]:
    """The lines of a table, no wider than `width` columns of a terminal if that is possible.

    A single row that is too wide stands upright. Otherwise names of columns break at underscores,
    then texts but for identifiers are cut short, running text first. With `wraps` the last column
    is wrapped onto further lines instead.
    """
    columns = columns_as_text(frame)
    if wraps and width is not None:
        columns = _wrapped(columns, width)
    heads = [[column.name] for column in columns]
    widths = [max(column.width, display_width(column.name)) for column in columns]
    gap = _GAP
    if frame.height == 1 and not wraps and _line_width(widths, gap) > (width or _PAGE):
        yield from _upright(columns)
        return
    if width is not None and _line_width(widths, gap) > width:
        heads = [_break_at_underscores(column.name, column.width) for column in columns]
        widths = [
            max(column.width, *map(display_width, head))
            for column, head in zip(columns, heads, strict=True)
        ]
        gap = _narrow(columns, widths, width)
    bottom_up = zip_longest(*(reversed(head) for head in heads), fillvalue="")
    for head in reversed(list(bottom_up)):
        yield _format_line(head, columns, widths, gap)
    yield gap.join("-" * width_ for width_ in widths)
    for row in _cell_rows(columns):
        yield _format_line(row, columns, widths, gap)


def _cell_rows(columns: Sequence[FormattedColumn]) -> Iterator[tuple[str, ...]]:
    return zip(*(column.cells for column in columns), strict=True)


def _upright(columns: Sequence[FormattedColumn]) -> Iterator[str]:
    wide = max(display_width(column.name) for column in columns)
    for column in columns:
        space = " " * (wide - display_width(column.name))
        yield f"{column.name}{space}{_GAP}{isolated(column.cells[0])}".rstrip()


def markdown(frame: pl.DataFrame) -> Iterator[str]:
    """The lines of a table in Markdown, with the same cells."""
    columns = columns_as_text(frame)
    yield f"| {' | '.join(_markdown_text(column.name) for column in columns)} |"
    yield f"|{'|'.join('--:' if column.is_number else '---' for column in columns)}|"
    for row in _cell_rows(columns):
        yield f"| {' | '.join(_markdown_text(cell) for cell in row)} |"


def display_width(text: str) -> int:
    """The columns of a terminal that a text takes: 2 for wide characters, 0 for combining ones."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    return max(0, int(wcswidth(text)))  # -1 for control characters, which cells have written out


def format_cell(value: Any) -> str:
    """A value of any type as one line, with control characters escaped."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _rounded(value, _pattern([value]))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        parts = (f"{format_cell(name)}: {_in_list(item)}" for name, item in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_in_list, value))}]"
    return escape_control(str(value))


def _in_list(value: Any) -> str:
    return "null" if value is None else format_cell(value)


def columns_as_text(frame: pl.DataFrame, *, exact_p: bool = False) -> list[FormattedColumn]:
    """The columns as text for people: every cell is one line, and numbers are rounded.

    Small p values are under 0.001, or as they are (2e-7, `exact_p`).
    """
    formatted = []
    for series in frame:
        values = series.to_list()
        if series.dtype.is_float():
            is_p = is_p_value(series.name)
            pattern = ".3f" if is_p else _pattern(values)
            cells = [
                "" if number is None else _rounded(number, pattern, is_p=is_p) for number in values
            ]
            if is_p and exact_p:
                cells = [
                    _exact(value) if cell.startswith("<") else cell
                    for cell, value in zip(cells, values, strict=True)
                ]
        elif (
            series.name in _PLACED
            and series.dtype.is_integer()
            and max(filter(None, values), default=0) > 1 << BITS
        ):
            # 1099511627788 is the 12th of the second corpus, 2:12.
            cells = ["" if id is None else place_of(id) for id in values]
        else:
            cells = [format_cell(value) for value in values]
        formatted.append(
            FormattedColumn(format_cell(series.name), cells, series.dtype.is_numeric())
        )
    return formatted


def _wrapped(columns: list[FormattedColumn], width: int) -> list[FormattedColumn]:
    total_width = sum(
        max(column.width, display_width(column.name)) + len(_GAP) for column in columns[:-1]
    )
    room = max(width - total_width, 3 * _NARROWEST)
    formatted = [FormattedColumn(column.name, [], column.is_number) for column in columns]
    for *cells, text in _cell_rows(columns):
        for at, line in enumerate(textwrap.wrap(text, room) or [""]):
            row = [*([""] * len(cells) if at else cells), line]
            for column, cell in zip(formatted, row, strict=True):
                column.cells.append(cell)
    return formatted


def _pattern(values: Sequence[float | None]) -> str:
    """The format of floats: three decimals, fewer for large ones, or three significant digits."""
    sizes = [
        abs(number) for number in values if number is not None and math.isfinite(number) and number
    ]
    if sizes and (max(sizes) >= 1e6 or max(sizes) < 0.005):
        return ".3g"
    return ".1f" if sizes and max(sizes) >= 1000 else ".3f"


def _rounded(value: float, pattern: str, *, is_p: bool = False) -> str:
    if is_p and 0 <= value < 0.001:  # as papers print it
        return "<0.001"
    text = format(value, pattern) if math.isfinite(value) else str(value)
    return text if text.strip("-0.") else text.removeprefix("-")  # no -0.000


def _exact(value: float) -> str:
    """A small p value with one digit: 2e-7; one that is less than floats can be is nearly 0."""
    digit, _, power = f"{value:.0e}".partition("e")
    return f"{digit}e{int(power)}" if value else "<1e-300"


def is_p_value(name: str) -> bool:
    """Whether a column of this name holds p values: `p_value`, `p_documents`, `held_out_p`."""
    return "p" in name.split("_")


def why_p_is_empty(frame: pl.DataFrame) -> str | None:
    """Why p values of an analysis are empty, if documents or controls are too few; else None."""
    for name, column, fewest, fact in _FEWEST:
        if {name, column} <= {*frame.columns} and frame[column].dtype.is_integer():
            is_few = frame[name].is_null() & frame[column].is_between(1, fewest - 1)
            counts = frame[column].filter(is_few).to_list()
            if counts:
                return f"{fact} (here: {min(counts)})."
    return None


def _line_width(widths: Sequence[int], gap: str) -> int:
    return sum(widths) + len(gap) * (len(widths) - 1)


def _break_at_underscores(name: str, width: int) -> list[str]:
    """A name broken at underscores into lines that are, if possible, no wider than `width`."""
    lines = [""]
    for part in name.replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1] + part) > max(width, _NARROWEST):
            lines.append(part)
        else:
            lines[-1] += part
    return lines


def _narrow(columns: Sequence[FormattedColumn], widths: list[int], most: int) -> str:
    """Make the widest columns of text narrower until they fit `most`; returns the gap between."""
    texts = [
        at
        for at, column in enumerate(columns)
        if not (column.is_number or column.name.endswith("_id") or column.name in _NAMES)
    ]
    running = [at for at in texts if any(" " in cell for cell in columns[at].cells)]
    for those in (running, texts):
        while _line_width(widths, _GAP) > most:
            widest = max(those, key=lambda at: widths[at], default=None)
            if widest is None or widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
        else:
            return _GAP
    return " "


def _format_line(
    cells: Sequence[str], columns: Sequence[FormattedColumn], widths: Sequence[int], gap: str
) -> str:
    parts = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        cut_cell = cut(cell, width)
        space = " " * (width - display_width(cut_cell))
        parts.append(space + cut_cell if column.is_number else isolated(cut_cell) + space)
    return gap.join(parts).rstrip()


def cut(text: str, width: int) -> str:
    """The beginning of a text in so many columns of a terminal, with … where it goes on."""
    if display_width(text) <= width:
        return text
    from wcwidth import iter_graphemes

    return f"{''.join(_fitting(iter_graphemes(text), width - 1))}…"


def cut_start(text: str, width: int) -> str:
    """The end of a text in so many columns of a terminal, with … where it begins before."""
    if display_width(text) <= width:
        return text
    from wcwidth import iter_graphemes

    last_graphemes = _fitting(reversed(list(iter_graphemes(text))), width - 1)
    return f"…{''.join(reversed(last_graphemes))}"


def _fitting(graphemes: Iterable[str], room: int) -> list[str]:
    """The first graphemes that fit into so many columns: a letter keeps its accents."""
    fitting = []
    for grapheme in graphemes:
        room -= display_width(grapheme)
        if room < 0:
            break
        fitting.append(grapheme)
    return fitting


def _markdown_text(text: str) -> str:
    return re.sub(r"[\\|<&*`]", r"\\\g<0>", text)


def latex(frame: pl.DataFrame) -> Iterator[str]:
    """The lines of a tabular: numbers are rounded as in a table for people, and right-aligned."""
    columns = columns_as_text(frame)
    yield r"% \usepackage{booktabs}"
    yield f"\\begin{{tabular}}{{{''.join('r' if column.is_number else 'l' for column in columns)}}}"
    yield r"\toprule"
    yield f"{' & '.join(_latex_text(column.name) for column in columns)} \\\\"
    yield r"\midrule"
    for row in _cell_rows(columns):
        cells = [
            re.sub("^-", "$-$", cell) if column.is_number else _latex_text(cell)
            for cell, column in zip(row, columns, strict=True)
        ]
        yield f"{' & '.join(cells)} \\\\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _latex_text(text: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in text)
    escaped = _LIGATURES.sub(r"\g<0>{}", escaped)
    # After the \\ that ends a row, these two would be taken for an argument of it.
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped[:1] in ("[", "*") else escaped


def fits_crosstab(counts: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Whether the counts of `Bank.count` by these keys make a cross table that is not too wide."""
    return len(keys) == 2 and counts[keys[1]].n_unique() <= _MOST_COLUMNS


def crosstab(counts: pl.DataFrame, rows: str, columns: str) -> pl.DataFrame:
    """A cross table of counts: the values of one key below, of the other side by side.

    `counts` has the columns `rows`, `columns` and `n`. The table has a column KEY=VALUE for each
    value of `columns`, the most frequent first, and last `n`, the sum of the row, which sorts them.
    """
    import polars as pl

    values = counts.group_by(columns).agg(pl.col("n").sum()).sort("n", columns, descending=True)
    words = {None: "none", True: "yes", False: "no"}
    table = counts.select(pl.col(rows).unique(maintain_order=True))
    for value in values[columns]:
        name = words[value] if value is None or isinstance(value, bool) else str(value)
        own = pl.col(columns).is_null() if value is None else pl.col(columns) == value
        part = counts.filter(own).select(rows, pl.col("n").alias(f"{columns}={name}"))
        table = table.join(part, on=rows, how="left", nulls_equal=True, maintain_order="left")
    table = table.with_columns(pl.exclude(rows).fill_null(0))
    total = table.select(pl.sum_horizontal(pl.exclude(rows)).alias("n"))
    return pl.concat([table, total], how="horizontal").sort("n", descending=True)


def csv_text(frame: pl.DataFrame, separator: str = ",", *, header: bool = True) -> str:
    """The rows as CSV: None is an empty cell, an empty text is ""."""
    null = '""' if frame.width == 1 else None  # readers pass over an empty line
    return csv_columns(frame).write_csv(include_header=header, separator=separator, null_value=null)


def csv_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with JSON texts instead of lists and records, which CSV does not have."""
    import polars as pl

    changed = []
    for column in frame:
        if column.dtype.is_nested():
            values = [as_json(value, column.dtype) for value in column.to_list()]
            texts = [None if value is None else _to_json(value) for value in values]
            changed.append(pl.Series(column.name, texts, dtype=pl.String))
    return _with_writable_types(frame).with_columns(changed)


def json_rows(frame: pl.DataFrame) -> list[str]:
    """Every row as a JSON object on one line; NaN and infinity, which JSON lacks, become null."""
    if all(_is_quick(dtype) for dtype in frame.dtypes):
        # Not splitlines(), which would also split a row at U+0085, U+2028 and U+2029 in its texts.
        return _with_writable_types(frame, is_json=True).write_ndjson().split("\n")[:-1]
    columns = [[as_json(value, column.dtype) for value in column.to_list()] for column in frame]
    rows = zip(*columns, strict=True)
    return [_to_json(dict(zip(frame.columns, row, strict=True)), (",", ":")) for row in rows]


def as_json(value: Any, dtype: Any) -> Any:
    """A value of a column of type `dtype` as a value that JSON can hold, nested values included."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if str(dtype) == "Float32":  # the shortest number: 0.1, not 0.10000000149011612
            import numpy as np

            value = float(str(np.float32(value)))
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if dtype.scale == 0 else float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, dict):
        fields = getattr(dtype, "fields", None)  # a map has keys of one type instead
        types = {} if fields is None else {field_.name: field_.dtype for field_ in fields}
        return {
            str(name): as_json(item, types[name] if types else dtype.value)
            for name, item in value.items()
        }
    if hasattr(dtype, "inner"):
        return [as_json(item, dtype.inner) for item in value]
    return str(value)


def _to_json(value: Any, separators: tuple[str, str] = (", ", ": ")) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=separators)


def _with_writable_types(frame: pl.DataFrame, *, is_json: bool = False) -> pl.DataFrame:
    """The frame in types that Polars writes right: texts for bytes and times, shortest floats."""
    import polars as pl

    changed = []
    for column in frame:
        if column.dtype == pl.Binary:
            changed.append(column.bin.encode("hex"))
        elif column.dtype in (pl.Date, pl.Datetime, pl.Time):
            changed.append(column.dt.to_string("iso:strict"))
        elif column.dtype == pl.Float32:
            changed.append(column.cast(pl.String).cast(pl.Float64))
        elif is_json and column.dtype.is_decimal():
            is_whole = getattr(column.dtype, "scale", 0) == 0
            changed.append(column.cast(pl.Int128 if is_whole else pl.Float64))
        elif is_json and column.dtype == pl.List(pl.Float32):
            changed.append(column.cast(pl.List(pl.String)).cast(pl.List(pl.Float64)))
    return frame.with_columns(changed)


def _is_quick(dtype: pl.DataType) -> bool:
    """Whether Polars itself writes a plain column of the type as JSON without fault."""
    import polars as pl

    if isinstance(dtype, pl.List):
        inner: Any = dtype.inner
        return inner.is_float() or inner.is_integer() or inner in (pl.String, pl.Boolean)
    return not dtype.is_nested()
