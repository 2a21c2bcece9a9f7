"""The header of an analysis: what it computes, which run it reads, its parameters and columns."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from itertools import takewhile
from typing import Any

from attnbank.sql import statements
from attnbank.sql.errors import AttnbankError
from attnbank.sql.names import literal, sql_literal

# The section of every analysis that a user wrote, and that does not come with attnbank.
OWN = "own"

_ONCE = frozenset({"title", "paper", "grain", "run", "weights", "plot", "empty"})
_RUN_CHOICE = ("unit", "contexts", "needs", "usual", "favours")

# What a run needs that need not be said where it is one over the usual inputs.
_OF_TEXT = ("trees", "mentions", "constituents", "shares", "sums")

# What the inputs of a run of a context, or of a context and a unit, are called.
_INPUTS = {
    "sentence": "single sentences", "document": "documents", "pair": "pairs of segments",
    "pair/token": "token pairs", "sentence/word": "single sentences of words",
}  # fmt: skip
_HEADER_ENTRY = re.compile(
    r"(title|paper|grain|formula|run|weights|plot|caption|empty|note|param|column)(?::|\s)\s*(.*)"
)
_NEEDED = {
    "grid": ("color",),
    "points": ("y",),
    "bars": ("x", "y"),
    "lines": ("x", "y"),
    "scatter": ("x", "y", "color"),
    "matrix": ("x", "y", "color"),
    "sentences": ("label",),
}
_USUAL = {"grid": {"x": ("head",), "y": ("layer",)}, "points": {"x": ("layer",)}}
_SINGLE = ("low", "high", "rule", "text", "significant")
_SCALES = ("linear", "sqrt")
_ALONG = ("values", "log")
_SEVERAL = ("x", "y", "color", "panel", "beside", "label", "aside")
_PARAMETER = re.compile(r"(\w+)\s+([\w\[\]]+)\s*=\s*(.+?)(?:\s+\{([\w ,]+)\})?:\s+(.+)")
_COLUMN = re.compile(r"(\w+)\s+([\w\[\](), ]+?):\s+(.+)")
_CAPTION = re.compile(r"(\w+):\s*(.*)")
_NAMES = re.compile(r"(\w+(?:, *\w+)*)(?: of (\w+))?")
_WRAPPER = textwrap.TextWrapper(
    116,
    initial_indent="-- ",
    subsequent_indent="--   ",
    break_long_words=False,
    break_on_hyphens=False,
)


class HeaderError(AttnbankError):
    """An analysis whose header cannot be read."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an analysis: its name, DuckDB type, default (SQL text) and meaning.

    `choices` are the only values that it may have, if there are any.
    """

    name: str
    type: str
    default: str
    choices: tuple[str, ...]
    help: str

    def __str__(self) -> str:
        choices = f" {{{', '.join(self.choices)}}}" if self.choices else ""
        return f"param {self.name} {self.type} = {self.default}{choices}: {self.help}"

    @property
    def names_run(self) -> bool:
        """Whether its value is the name or the id of a run."""
        return self.name == "run" or self.name.endswith("_run") or self.name.startswith("run_")

    @property
    def checked(self) -> str:
        """The argument that a macro passes on: its name, or, with choices, a check in SQL."""
        if not self.choices:
            return self.name
        allowed = ", ".join(literal(choice) for choice in self.choices)
        choices = literal(f"; it is one of {', '.join(self.choices)}")
        return (
            f"case when {self.name} is null or {self.name} in ({allowed}) then {self.name}"
            f" else cast(error(concat('{self.name} cannot be ', {self.name}, {choices}))"
            f" as {self.type}) end"
        )


@dataclass(frozen=True)
class ResultColumn:
    """A column of an analysis's result: its name, DuckDB type and meaning.

    `caption` stands at an axis or a scale of a picture; by default that is made of the meaning.
    """

    name: str
    type: str
    help: str
    caption: str | None = None

    def __str__(self) -> str:
        return f"column {self.name} {self.type}: {self.help}"


@dataclass(frozen=True)
class RunChoice:
    """How an analysis chooses its run: the arguments of the macros run_candidate and chosen_run.

    A run must have the `unit`, one of the `contexts` and the capability that the analysis `needs`
    (of the view `run_capability`). One that is not named must have the `usual` context, and
    those that the analysis `favours` (context/unit) come first.
    `weights` is SQL over the parameters, true if every weight is read; or it is `largest`, if those
    that `--keep top:8` keeps suffice. None means any, or no.
    """

    unit: str | None = None
    contexts: tuple[str, ...] | None = None
    needs: str | None = None
    usual: str | None = None
    favours: str | None = None
    weights: str | None = None

    @property
    def arguments(self) -> dict[str, str]:
        """The named arguments of the macros `run_candidate` and `chosen_run`, as SQL."""
        values = {name: getattr(self, name) for name in _RUN_CHOICE}
        arguments = {
            name: sql_literal(value) for name, value in values.items() if value is not None
        }
        if self.weights == "largest":
            arguments["reads_largest"] = "true"
        elif self.weights is not None:
            arguments["reads_weights"] = self.weights
        return arguments

    @cached_property
    def parameter(self) -> Parameter:
        """The parameter `run` of an analysis that chooses its run like this."""
        meaning = "name or id of the run; by default the bank's own choice, else the newest"
        meaning += " finished one of trained weights"
        if self.usual is not None:
            meaning += f" over {_INPUTS.get(self.usual, self.usual)}"
        elif self.needs is not None and self.needs not in _OF_TEXT:
            meaning += f" with {self.needs.replace('_', ' ')}"
        else:
            meaning += " that fits"
        if self.favours is not None:
            meaning += f", of {_INPUTS.get(self.favours, self.favours)} before others"
        return Parameter("run", "varchar", "null", (), meaning)

    def add_to_statement(self, body: str) -> str:
        """The statement with the row of the macro `chosen_run` as a common table expression."""
        named = {"requested": "$run"} | self.arguments
        arguments = ",\n        ".join(f"{name} := {value}" for name, value in named.items())
        expression = (
            "chosen_run as (\n"
            "    select chosen.id, chosen.name, chosen.corpus, chosen.model, chosen.is_causal\n"
            f"    from chosen_run(\n        {arguments}\n    ) as chosen\n)"
        )
        lines = body.splitlines()
        comments = [f"{line}\n" for line in takewhile(lambda line: line.startswith("--"), lines)]
        statement = "\n".join(lines[len(comments) :]).lstrip()
        words = [word.lower() for word in statement.split(maxsplit=2)[:2]]
        if words[:1] != ["with"]:
            return f"with {expression}\n\n{body}"
        start = "with recursive" if words == ["with", "recursive"] else "with"
        others = "".join([*comments, statement[len(start) :].lstrip()])
        return f"{start} {expression},\n\n{others}"


@dataclass(frozen=True)
class Plot:
    """The picture of an analysis: its kind, and which columns it draws where.

    `grid`: cells of `x` by `y` (by default heads by layers), coloured by `color`; `points`: one per
    row at `x` (by default the layer) and `y`, and a line through the means; `bars`: one per `y`, as
    long as `x`, from `low` to `high` its interval, with marks for the columns of `beside`; `lines`:
    `y` along `x`; `scatter`: a map of points, each with the columns of `label` beside it; `matrix`:
    every pair of `x` and `y`, similar ones next to each other; `sentences`: what the head of each
    row (layer, head) looks at in its sentence, with the gold arcs of its relation and direction if
    it has these, and the columns of `label` above it. There is a panel per value of `panel`. The
    cells of a grid of one column have the name of `text`, or the columns of `label`, in them; with
    a column `significant`, of p values, only those where that is below 0.05 are coloured. Each of
    several columns of `color` (or of `y`, for lines and points) is drawn, `rule` as a dashed line.
    `domain` is the first and the last value of the scale (None for the range of the rows), of which
    sqrt shows small amounts better. Lines go `along` the values of `x`, one beside the other, or
    (log) along a logarithmic axis of amounts, on which 0 has its place.
    """

    kind: str
    x: tuple[str, ...] = ()
    y: tuple[str, ...] = ()
    color: tuple[str, ...] = ()
    panel: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    text: str | None = None
    low: str | None = None
    high: str | None = None
    rule: str | None = None
    significant: str | None = None
    domain: tuple[float, float] | None = None
    scale: str = "linear"
    along: str = "values"


@dataclass(frozen=True)
class Analysis:
    """One analysis, as its file states it.

    `grain` says what one row is; `formulas` are equations of what it measures; `run` is None if it
    does not read exactly one, `plot` if it has no picture. `empty` is why there may be no rows, and
    what to do then. `body` is the SELECT below the header, which with a line `run` begins with the
    common table expression `chosen_run`. `text` is the whole file, with that expression and every
    parameter and column written out.
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
    columns: tuple[ResultColumn, ...]
    header: tuple[str, ...]
    body: str

    @cached_property
    def text(self) -> str:
        """The whole file, with the header's lines wrapped."""
        lines = [_WRAPPER.fill(line) for line in self.header]
        if self.body.startswith("--"):
            lines.append("")
        return "\n".join([*lines, self.body, ""])

    @property
    def is_own(self) -> bool:
        """Whether a user wrote it, so that its statement cannot be trusted."""
        return self.section == OWN

    @cached_property
    def statement(self) -> str:
        """The SELECT with `cast($name as type)` for each parameter; raises as `with_parameters`."""
        return self.with_parameters(lambda name: f"${name}")

    def with_parameters(self, render: Callable[[str], str]) -> str:
        """The SELECT with each parameter replaced by `render(name)`, cast to its type.

        Raises HeaderError if the SELECT uses other parameters than the header declares.
        """
        types = {parameter.name: parameter.type for parameter in self.parameters}
        odd = types.keys() ^ {name for _, _, name in statements.parameter_references(self.body)}
        if odd:
            raise HeaderError(
                f"{self.name}.sql: header and statement disagree on the parameters:"
                f" {', '.join(sorted(odd))}."
            )
        return statements.with_references(
            self.body, lambda name: f"cast({render(name)} as {types[name]})"
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
    """Read an analysis: header lines (`-- key: value`) and then one SELECT, which is not read here.

    A header line that does not start with a key continues the one before. Raises HeaderError if a
    key is missing, given twice or malformed.
    """
    entries, body = _split_header(text)
    single: dict[str, str] = {}
    repeated: dict[str, list[str]] = {
        "formula": [], "caption": [], "note": [], "param": [], "column": []
    }  # fmt: skip
    for key, value in entries:
        if key in repeated:
            repeated[key].append(value)
        elif key in single or key not in _ONCE:
            raise HeaderError(f"{name}.sql: header line '{key}' is unknown or repeated.")
        else:
            single[key] = value
    run = _run_choice(name, section, single) if "run" in single else None
    known = _common() if run is None else _common() | {("param", "run"): run.parameter}
    declared = [declaration for entry in entries for declaration in _declared(name, *entry, known)]
    parameters = [declaration for declaration in declared if isinstance(declaration, Parameter)]
    captions = _captions(name, repeated["caption"])
    columns = [
        replace(column, caption=captions.get(column.name, _common_captions().get(column.name)))
        for column in declared
        if isinstance(column, ResultColumn)
    ]
    needed = ("title", "grain") if section in ("shared", OWN) else ("title", "paper", "grain")
    missing = [key for key in needed if key not in single]
    if missing or not columns:
        raise HeaderError(f"{name}.sql: the header has no {', '.join(missing) or 'column'}.")
    if unknown := captions.keys() - {column.name for column in columns}:
        raise HeaderError(f"{name}.sql: the header captions {min(unknown)}, which is no column.")
    if run is not None and all(parameter.name != "run" for parameter in parameters):
        parameters.append(run.parameter)
    # A header that declares the parameter itself also chooses the run itself.
    if run is not None and any(parameter is run.parameter for parameter in parameters):
        body = run.add_to_statement(body)
    lines = [f"{key}: {value}" for key, value in entries if key not in ("param", "column")]
    return Analysis(
        name=name,
        section=section,
        title=single["title"],
        paper=single.get("paper", ""),
        grain=single["grain"],
        formulas=tuple(repeated["formula"]),
        run=run,
        plot=_plot(name, single["plot"], columns) if "plot" in single else None,
        empty=single.get("empty"),
        notes=tuple(repeated["note"]),
        parameters=tuple(parameters),
        columns=tuple(columns),
        header=(*lines, *map(str, parameters), *map(str, columns)),
        body=body,
    )


def _split_header(text: str) -> tuple[list[tuple[str, str]], str]:
    entries: list[tuple[str, str]] = []
    lines = text.splitlines()
    header = list(takewhile(lambda line: line.startswith("--"), lines))
    for line in header:
        content = line[2:].removeprefix(" ")
        if entry := _HEADER_ENTRY.fullmatch(content):
            entries.append((entry[1], entry[2].strip()))
        elif entries:
            key, value = entries[-1]
            entries[-1] = (key, f"{value} {content.strip()}".strip())
    return entries, "\n".join(lines[len(header) :]).strip().rstrip(";")


@cache
def _common() -> dict[tuple[str, str], Parameter | ResultColumn]:
    """The parameters and columns that mean the same in many analyses, by key and name."""
    entries, _ = _split_header((files("attnbank.sql") / "header.sql").read_text(encoding="utf-8"))
    return {
        (entry[0], column.name): column for entry in entries for column in _declared("", *entry, {})
    }


@cache
def _common_captions() -> dict[str, str]:
    """The captions of columns that are drawn alike in many analyses, by name."""
    entries, _ = _split_header((files("attnbank.sql") / "header.sql").read_text(encoding="utf-8"))
    return _captions("header", [value for key, value in entries if key == "caption"])


def _captions(name: str, values: list[str]) -> dict[str, str]:
    """Read `offset: Fixed offset`, a header line `caption`, of each column that has one."""
    captions = {}
    for value in values:
        column, text = _match(_CAPTION, name, "caption", value)
        captions[column] = text
    return captions


@cache
def _of_macro(name: str) -> dict[tuple[str, str], Parameter | ResultColumn]:
    """The parameters and columns of a shared macro, by key and name; empty for an unknown one."""
    file = files("attnbank.sql") / "shared" / f"{name}.sql"
    if not file.is_file():
        return {}
    macro = parse(name, "shared", file.read_text(encoding="utf-8"))
    columns = {("column", column.name): column for column in macro.columns}
    return columns | {("param", parameter.name): parameter for parameter in macro.parameters}


def _declared(
    name: str, key: str, value: str, known: Mapping[tuple[str, str], Parameter | ResultColumn]
) -> list[Parameter | ResultColumn]:
    """Read a header line `param` or `column`: one in full, or names that are described elsewhere.

    Such names are `known`, or those of a shared macro: `column low, high of head_measure`.
    """
    if key not in ("param", "column"):
        return []
    if listed := _NAMES.fullmatch(value):
        names = [name.strip() for name in listed[1].split(",")]
        known = known if listed[2] is None else _of_macro(listed[2])
        unknown = [name for name in names if (key, name) not in known]
        if unknown:
            raise HeaderError(
                f"{name}.sql: the header line '{key} {value}' does not describe {unknown[0]}.",
                f"Write: -- {key} {unknown[0]} TYPE{' = DEFAULT' * (key == 'param')}: MEANING",
            )
        return [known[key, name] for name in names]
    if key == "column":
        return [ResultColumn(*_match(_COLUMN, name, key, value))]
    word, type_, default, choices, meaning = _match(_PARAMETER, name, key, value)
    allowed = tuple(choice.strip() for choice in choices.split(",") if choice.strip())
    return [Parameter(word, type_, default, allowed, meaning)]


def _run_choice(name: str, section: str, single: dict[str, str]) -> RunChoice:
    """Read `unit=word contexts=document,sentence`, the header line `run`, and the line `weights`.

    A condition is SQL that runs outside of any sandbox, so a user's own file may only say `true`.
    """
    choice: dict[str, Any] = {}
    for part in single["run"].split():
        key, equals, value = part.partition("=")
        if not equals or not value or key in choice or key not in _RUN_CHOICE:
            raise HeaderError(f"{name}.sql: cannot read '{part}' in the header line 'run'.")
        choice[key] = tuple(value.split(",")) if key == "contexts" else value
    weights = single.get("weights")
    if section == OWN and weights not in (None, "true", "largest"):
        raise HeaderError(
            f"{name}.sql: the header line 'weights' can only be: -- weights: true (or largest)"
        )
    return RunChoice(**choice, weights=weights)


def _plot(name: str, text: str, columns: list[ResultColumn]) -> Plot:
    """Read `bars x=accuracy y=relation domain=0,1`, the header line `plot`."""
    kind, *parts = text.split() or [""]
    if kind not in _NEEDED:
        raise HeaderError(
            f"{name}.sql: '{kind}' in the header line 'plot' is not a kind of picture.",
            f"The kinds: {', '.join(_NEEDED)}.",
        )
    settings: dict[str, Any] = {}
    known = [column.name for column in columns]
    for part in parts:
        key, _, value = part.partition("=")
        values = tuple(value.split(","))
        is_of_columns = key in (*_SINGLE, *_SEVERAL)
        is_readable = is_of_columns or key == "domain" or (key == "scale" and value in _SCALES)
        is_readable |= key == "along" and value in _ALONG
        if not value or key in settings or not is_readable:
            raise HeaderError(f"{name}.sql: cannot read '{part}' in the header line 'plot'.")
        if is_of_columns and (set(values) - set(known) or (key in _SINGLE and values[1:])):
            raise HeaderError(
                f"{name}.sql: '{part}' in the header line 'plot' names no column of the header.",
                f"The columns: {', '.join(known)}.",
            )
        settings[key] = values if key in _SEVERAL else value
        if key == "domain":
            try:
                first, last = map(float, values)
            except ValueError:
                first = last = 0.0
            if not -math.inf < first < last < math.inf:
                raise HeaderError(
                    f"{name}.sql: '{part}' in the header line 'plot' is not two numbers, the"
                    " smaller first."
                )
            settings[key] = (first, last)
    settings = _USUAL.get(kind, {}) | settings
    for key in _NEEDED[kind]:
        if key not in settings:
            raise HeaderError(f"{name}.sql: the picture of kind {kind} needs {key}=COLUMN.")
    named = [name for key in ("x", "y") for name in settings.get(key, ())]
    named += ["sentence", "layer", "head"] if kind == "sentences" else []
    unknown = [name for name in named if name not in known]
    if unknown:
        raise HeaderError(
            f"{name}.sql: the picture of kind {kind} has no column {', '.join(unknown)}.",
            "Say x=COLUMN and y=COLUMN in the header line 'plot'.",
        )
    return Plot(kind, **settings)


def _match(pattern: re.Pattern[str], name: str, key: str, value: str) -> tuple[str, ...]:
    match = pattern.fullmatch(value)
    if match is None:
        raise HeaderError(f"{name}.sql: cannot read the header line '{key} {value}'.")
    return tuple((group or "").strip() for group in match.groups())
