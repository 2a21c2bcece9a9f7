"""The header of an analysis: what it computes, which run it reads, its parameters and columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from attnbank.sql import reading
from attnbank.sql.errors import AttnbankError
from attnbank.sql.quoting import literal

OWN = "own"
"""The section of every analysis that a user wrote, and that does not come with attnbank."""

_ONCE = frozenset({"title", "paper", "grain", "run", "weights", "plot", "empty"})
_RUN_CHOICE = frozenset({"unit", "contexts", "needs", "usual", "favours"})
_HEADER_LINE = re.compile(r"--\s?(.*)")
_HEADER_ENTRY = re.compile(
    r"(title|paper|grain|formula|run|weights|plot|empty|note|param|column)(?::|\s)\s*(.*)"
)
_NEEDED = {
    "grid": ("color",),
    "points": ("y",),
    "bars": ("x", "y"),
    "lines": ("x", "y"),
    "scatter": ("x", "y", "color"),
    "matrix": ("x", "y", "color"),
}
_USUAL = {"grid": {"x": ("head",), "y": ("layer",)}, "points": {"x": ("layer",)}}
_SINGLE = ("low", "high", "rule")
_SCALES = ("linear", "sqrt")
_SEVERAL = ("x", "y", "color", "panel", "beside", "label")
_PARAMETER = re.compile(r"(\w+)\s+([\w\[\]]+)\s*=\s*(.+?)(?:\s+\{([\w ,]+)\})?:\s+(.+)")
_COLUMN = re.compile(r"(\w+)\s+([\w\[\](), ]+?):\s+(.+)")


class HeaderError(AttnbankError):
    """An analysis whose header cannot be read."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an analysis: its name, DuckDB type, default (SQL text) and meaning.

    `choices` are the only values that it may have; where it is empty, any value of the type may
    be given.
    """

    name: str
    type: str
    default: str
    choices: tuple[str, ...]
    help: str

    @property
    def names_run(self) -> bool:
        """Whether its value is the name or the id of a run."""
        return self.name == "run" or self.name.endswith("_run") or self.name.startswith("run_")

    @property
    def checked(self) -> str:
        """The argument that a macro passes on: its name, or, with choices, a check of its value.

        The check is SQL too, so that every DuckDB client gets an error for any other value.
        """
        if not self.choices:
            return self.name
        allowed = ", ".join(literal(each) for each in self.choices)
        told = literal(f"; it is one of {', '.join(self.choices)}")
        return (
            f"case when {self.name} is null or {self.name} in ({allowed}) then {self.name}"
            f" else cast(error(concat('{self.name} cannot be ', {self.name}, {told}))"
            f" as {self.type}) end"
        )


@dataclass(frozen=True)
class Column:
    """A column of an analysis's result: its name, DuckDB type and meaning."""

    name: str
    type: str
    help: str


@dataclass(frozen=True)
class RunChoice:
    """How an analysis chooses its run: the arguments of the macros run_fit and chosen_run.

    A run must have the `unit`, one of the `contexts` and what the analysis `needs` (trees,
    mentions, gradients or losses). A run that the user does not name must also have the `usual`
    context, and a run that the analysis `favours` (context/unit) is taken before others. None
    means that any value will do.

    `weights` is the condition, SQL over the parameters, under which the analysis reads every
    weight, which runs of --keep peaks do not have; None if it never does.
    """

    unit: str | None = None
    contexts: tuple[str, ...] | None = None
    needs: str | None = None
    usual: str | None = None
    favours: str | None = None
    weights: str | None = None


@dataclass(frozen=True)
class Plot:
    """The picture of an analysis: its kind, and which columns it draws where.

    `grid`: cells of `x` by `y` (by default heads by layers), coloured by `color`;
    `points`: one point per row at `x` (by default the layer) and `y`, and a line through the means;
    `bars`: one bar per `y`, as long as `x`, with `low` and `high` as its interval and marks for
    the columns of `beside`; `lines`: a line through `y` along `x`; `scatter`: a map of points, each
    with the columns of `label` written beside it; `matrix`: every pair of `x` and `y`, similar
    ones next to each other.

    `panel` columns divide the rows into panels, one per value. If there are several columns of
    `color` (or of `y`, for lines and points), each is drawn. `rule` is a column that is drawn as a
    dashed line. `domain` is the first and the last value of the scale; None means the range of the
    rows. `scale` is linear or sqrt; sqrt makes small amounts differ more in colour.
    """

    kind: str
    x: tuple[str, ...] = ()
    y: tuple[str, ...] = ()
    color: tuple[str, ...] = ()
    panel: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    low: str | None = None
    high: str | None = None
    rule: str | None = None
    domain: tuple[float, float] | None = None
    scale: str = "linear"


@dataclass(frozen=True)
class Analysis:
    """One analysis, as its file states it.

    `grain` says what one row is. `formulas` define what it measures, in plain text, one equation
    each (none if the title says it all); the documentation prints them. `run` says how it chooses
    the run that it reads (None if it does not read exactly one run); `plot` says what its picture
    shows (None if it has none); `empty` is why an answer may have no rows, and what to do then;
    `text` is the whole file, `body` the SELECT below its header.
    """

    name: str
    section: str
    title: str
    paper: str
    grain: str
    formulas: tuple[str, ...]
    run: RunChoice | None
    plot: Plot | None
    empty: str | None
    notes: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    text: str
    body: str

    @property
    def is_own(self) -> bool:
        """Whether a user wrote it, so that its statement cannot be trusted."""
        return self.section == OWN

    @cached_property
    def statement(self) -> str:
        """The SELECT with `cast($name as type)` for each parameter `$name`.

        Raises HeaderError as `with_parameters` does.
        """
        return self.with_parameters(lambda name: f"${name}")

    def with_parameters(self, written: Callable[[str], str]) -> str:
        """The SELECT with each parameter replaced by `written(name)`, cast to its type.

        The cast makes null, or a literal, mean the same however the analysis is called. Raises
        HeaderError if the parameters that the SELECT uses are not those that the header declares.
        """
        types = {parameter.name: parameter.type for parameter in self.parameters}
        odd = types.keys() ^ {name for _, _, name in reading.references(self.body)}
        if odd:
            raise HeaderError(
                f"{self.name}.sql: header and statement disagree on the parameters:"
                f" {', '.join(sorted(odd))}."
            )
        return reading.with_references(
            self.body, lambda name: f"cast({written(name)} as {types[name]})"
        )

    @property
    def is_view(self) -> bool:
        """Whether it is a table or figure of the paper: a view, and a macro of the same name."""
        return self.section == "paper"

    @property
    def relation(self) -> str:
        """What to write after FROM in a bank."""
        return f"paper.{self.name}" if self.is_view else f"{self.name}()"


def parse(name: str, section: str, text: str) -> Analysis:
    """Read an analysis: header lines (`-- key: value`) and then one SELECT.

    A header line that does not start with a key continues the line before it. Raises HeaderError
    if a key is missing, given twice or malformed. The SELECT itself is not read here, but when
    `statement` is first used, because that needs sqlglot.
    """
    entries, body = _split(text)
    single: dict[str, str] = {}
    repeated: dict[str, list[str]] = {"formula": [], "note": []}
    parameters: list[Parameter] = []
    columns: list[Column] = []
    for key, value in entries:
        if key in repeated:
            repeated[key].append(value)
        elif key == "param":
            word, type_, default, choices, told = _match(_PARAMETER, name, key, value)
            allowed = tuple(each.strip() for each in choices.split(",") if each.strip())
            parameters.append(Parameter(word, type_, default, allowed, told))
        elif key == "column":
            columns.append(Column(*_match(_COLUMN, name, key, value)))
        elif key in single or key not in _ONCE:
            raise HeaderError(f"{name}.sql: header line '{key}' is unknown or stands twice.")
        else:
            single[key] = value
    needed = ("title", "grain") if section in ("shared", OWN) else ("title", "paper", "grain")
    missing = [key for key in needed if key not in single]
    if missing or not columns:
        raise HeaderError(f"{name}.sql: the header has no {', '.join(missing) or 'column'}.")
    return Analysis(
        name=name,
        section=section,
        title=single["title"],
        paper=single.get("paper", ""),
        grain=single["grain"],
        formulas=tuple(repeated["formula"]),
        run=_run_choice(name, section, single) if "run" in single else None,
        plot=_plot(name, single["plot"], columns) if "plot" in single else None,
        empty=single.get("empty"),
        notes=tuple(repeated["note"]),
        parameters=tuple(parameters),
        columns=tuple(columns),
        text=text,
        body=body,
    )


def _split(text: str) -> tuple[list[tuple[str, str]], str]:
    """The header's entries (key, value) in order, and the statement below it."""
    entries: list[tuple[str, str]] = []
    lines = text.splitlines()
    at = 0
    for at, line in enumerate(lines):  # noqa: B007 (the place where the header ends)
        comment = _HEADER_LINE.fullmatch(line)
        if comment is None:
            break
        content = comment[1]
        entry = _HEADER_ENTRY.fullmatch(content)
        if entry is not None:
            entries.append((entry[1], entry[2].strip()))
        elif entries:
            key, value = entries[-1]
            entries[-1] = (key, f"{value} {content.strip()}".strip())
    return entries, "\n".join(lines[at:]).strip().rstrip(";")


def _run_choice(name: str, section: str, single: dict[str, str]) -> RunChoice:
    """Read `unit=word contexts=document,sentence`, the header line `run`, and the line `weights`.

    A condition is SQL that runs outside of any sandbox, so a user's own file may only say `true`.
    """
    found: dict[str, Any] = {}
    for part in single["run"].split():
        key, equals, value = part.partition("=")
        if not equals or not value or key in found or key not in _RUN_CHOICE:
            raise HeaderError(f"{name}.sql: cannot read '{part}' in the header line 'run'.")
        found[key] = tuple(value.split(",")) if key == "contexts" else value
    weights = single.get("weights")
    if section == OWN and weights not in (None, "true"):
        raise HeaderError(f"{name}.sql: the header line 'weights' can only be: -- weights: true")
    return RunChoice(**found, weights=weights)


def _plot(name: str, text: str, columns: list[Column]) -> Plot:
    """Read `bars x=accuracy y=relation domain=0,1`, the header line `plot`."""
    kind, *parts = text.split() or [""]
    if kind not in _NEEDED:
        raise HeaderError(
            f"{name}.sql: '{kind}' in the header line 'plot' is no kind of picture.",
            f"The kinds: {', '.join(_NEEDED)}.",
        )
    found: dict[str, Any] = {}
    known = [each.name for each in columns]
    for part in parts:
        key, equals, value = part.partition("=")
        values = tuple(value.split(","))
        is_word = key == "scale" and value in _SCALES
        is_single = key in (*_SINGLE, "domain") or is_word
        is_known = key == "domain" or is_word or all(each in known for each in values)
        if not equals or not value or key in found or not (is_single or key in _SEVERAL):
            raise HeaderError(f"{name}.sql: cannot read '{part}' in the header line 'plot'.")
        if not is_known or (key in _SINGLE and len(values) > 1):
            raise HeaderError(
                f"{name}.sql: '{part}' in the header line 'plot' names no column of the header.",
                f"The columns: {', '.join(known)}.",
            )
        found[key] = _domain(name, part, values) if key == "domain" else values
    found = _USUAL.get(kind, {}) | found
    for key in _NEEDED[kind]:
        if key not in found:
            raise HeaderError(f"{name}.sql: the picture of kind {kind} needs {key}=COLUMN.")
    unknown = [each for key in ("x", "y") for each in found[key] if each not in known]
    if unknown:
        raise HeaderError(
            f"{name}.sql: the picture of kind {kind} has no column {', '.join(unknown)}.",
            "Say x=COLUMN and y=COLUMN in the header line 'plot'.",
        )
    alone = {key: found[key][0] for key in (*_SINGLE, "scale") if key in found}
    return Plot(kind, **found | alone)


def _domain(name: str, part: str, values: tuple[str, ...]) -> tuple[float, float]:
    try:
        first, last = map(float, values)
    except ValueError:
        first = last = 0.0
    if not -math.inf < first < last < math.inf:
        raise HeaderError(
            f"{name}.sql: '{part}' in the header line 'plot' is not two numbers, the smaller first."
        )
    return first, last


def _match(pattern: re.Pattern[str], name: str, key: str, value: str) -> tuple[str, ...]:
    found = pattern.fullmatch(value)
    if found is None:
        raise HeaderError(f"{name}.sql: cannot read the header line '{key} {value}'.")
    return tuple((group or "").strip() for group in found.groups())
