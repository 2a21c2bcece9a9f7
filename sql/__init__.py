"""Every statement of attnbank, as text, and the one reader of it.

- `schema/*.sql` make the tables and views of a bank, in the order of their names;
- `<section>/<name>.sql` are the analyses: a header and one SELECT;
- `paper/<name>.sql` are analyses that print a table or figure of the paper: views in the schema
  `paper` of the bank, and macros of the same names that take a run;
- `shared/<name>.sql` are what several analyses read, in the same form: macros that are no analyses;
- `bank/<name>.sql` are the package's own statements;
- `migrations/<N>.sql` bring a bank of format N - 1 to format N.

Nothing here imports duckdb: a statement is text until someone runs it. What stands in one is read
by sqlglot (reading.py), which is imported where that is asked.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from attnbank.sql import reading
from attnbank.sql.errors import AttnbankError
from attnbank.sql.quoting import literal

FORMAT = 2
"""Version of the schema that a bank is written with (table `bank`)."""

_NOT_SECTIONS = frozenset({"schema", "bank", "migrations", "shared"})
_RUN_CHOICE = frozenset({"unit", "contexts", "needs", "usual", "favours"})
_HEADER_LINE = re.compile(r"--\s?(.*)")
_HEADER_ENTRY = re.compile(r"(title|paper|grain|run|empty|note|param|column)(?::|\s)\s*(.*)")
_PARAMETER = re.compile(r"(\w+)\s+([\w\[\]]+)\s*=\s*(.+?):\s+(.+)")
_CHOICES = re.compile(r"one of ([\w ,-]+?)(?:[;:.(].*)?")
_COLUMN = re.compile(r"(\w+)\s+([\w\[\](), ]+?):\s+(.+)")


class HeaderError(AttnbankError):
    """An analysis whose header cannot be read."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an analysis: its name, DuckDB type, default (SQL text) and meaning."""

    name: str
    type: str
    default: str
    help: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that its help allows ("one of half, train: ..."); none: any."""
        found = _CHOICES.fullmatch(self.help)
        if found is None:
            return ()
        return tuple(part.strip() for part in re.split(r",| or ", found[1]) if part.strip())

    @property
    def checked(self) -> str:
        """Its name as an argument in SQL; where it has choices, any other value is an error."""
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
    mentions, gradients or losses). Unless it is named it must also have the `usual` context, and
    one that the analysis `favours` (context/unit) is taken before others. None: any will do.
    """

    unit: str | None = None
    contexts: tuple[str, ...] | None = None
    needs: str | None = None
    usual: str | None = None
    favours: str | None = None


@dataclass(frozen=True)
class Analysis:
    """One analysis, as its file states it.

    `run` says how it chooses the run that it reads (None: it reads no one run); `empty` is why
    an answer may have no rows, and what to do then; `text` is the whole file,
    `body` the SELECT below its header.
    """

    name: str
    section: str
    title: str
    paper: str
    grain: str
    run: RunChoice | None
    empty: str | None
    notes: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    text: str
    body: str

    @cached_property
    def statement(self) -> str:
        """The SELECT with `cast($name as type)` where a parameter stands.

        So a null or a literal means the same at every door. Raises HeaderError where the
        parameters that it uses are not the ones that the header declares.
        """
        types = {parameter.name: parameter.type for parameter in self.parameters}
        odd = types.keys() ^ {name for _, _, name in reading.references(self.body)}
        if odd:
            raise HeaderError(
                f"{self.name}.sql: header and statement disagree on the parameters:"
                f" {', '.join(sorted(odd))}."
            )
        return reading.with_references(self.body, lambda name: f"cast(${name} as {types[name]})")

    @cached_property
    def reads(self) -> frozenset[str]:
        """The names of the analyses, and of what they share, that the statement reads."""
        return (reading.relations(self.body) & (shared() | analyses()).keys()) - {self.name}

    @property
    def is_view(self) -> bool:
        """Whether it is a table or figure of the paper: a view, and a macro of the same name."""
        return self.section == "paper"

    @property
    def relation(self) -> str:
        """What to write after FROM in a bank."""
        return f"paper.{self.name}" if self.is_view else f"{self.name}()"


def _root() -> Traversable:
    return files(__name__)


@cache
def schema() -> tuple[str, ...]:
    """The scripts that make an empty bank's tables and views, in order."""
    parts = sorted(_sql_files(_root() / "schema"), key=lambda part: part.name)
    return tuple(part.read_text(encoding="utf-8") for part in parts)


@cache
def functions(*, temporary: bool = False) -> tuple[str, ...]:
    """The scripts of the schema that make functions and views alone, and may run again.

    `temporary` makes them for one connection, without comments.
    """
    read = [(text, reading.statements(text)) for text in schema()]
    found = [
        (text, parts)
        for text, parts in read
        if all(part.words[:2] != ("create", "table") for part in parts)
    ]
    if not temporary:
        return tuple(text for text, _ in found)
    return tuple(
        f"{part.text[: part.ends[2]]} temporary{part.text[part.ends[2] :]}"
        for _, parts in found
        for part in parts
        if part.words == ("create", "or", "replace")
    )


@cache
def statement(name: str) -> str:
    """A statement of the package's own, `bank/<name>.sql`."""
    return (_root() / "bank" / f"{name}.sql").read_text(encoding="utf-8")


@cache
def migration(format_: int) -> str:
    """The statements that bring a bank of the format before to this one, `migrations/N.sql`."""
    return (_root() / "migrations" / f"{format_}.sql").read_text(encoding="utf-8")


@cache
def analyses() -> dict[str, Analysis]:
    """Every analysis by name, in the order of section and name."""
    found = {}
    for folder in sorted(_root().iterdir(), key=lambda item: item.name):
        if not folder.is_dir() or folder.name in _NOT_SECTIONS:
            continue
        for part in sorted(_sql_files(folder), key=lambda item: item.name):
            name = part.name.removesuffix(".sql")
            if name in found:
                raise HeaderError(f"Two analyses are called {name}.", "Rename one of the files.")
            found[name] = parse(name, folder.name, part.read_text(encoding="utf-8"))
    return found


@cache
def shared() -> dict[str, Analysis]:
    """What several analyses read, by name: macros with a header that are no analyses."""
    return {
        part.name.removesuffix(".sql"): parse(
            part.name.removesuffix(".sql"), "shared", part.read_text(encoding="utf-8")
        )
        for part in sorted(_sql_files(_root() / "shared"), key=lambda item: item.name)
    }


def _sql_files(folder: Traversable) -> list[Traversable]:
    return [item for item in folder.iterdir() if item.name.endswith(".sql")]


def parse(name: str, section: str, text: str) -> Analysis:
    """Read an analysis: header lines (`-- key: value`) and then one SELECT.

    A header line that starts with no key goes on with the line before it. Raises HeaderError where
    a key is missing, unknown or malformed; the SELECT is read when its `statement` is asked for.
    """
    entries, body = _split(text)
    single: dict[str, str] = {}
    notes: list[str] = []
    parameters: list[Parameter] = []
    columns: list[Column] = []
    for key, value in entries:
        if key == "note":
            notes.append(value)
        elif key == "param":
            parameters.append(Parameter(*_match(_PARAMETER, name, key, value)))
        elif key == "column":
            columns.append(Column(*_match(_COLUMN, name, key, value)))
        elif key in single or key not in {"title", "paper", "grain", "run", "empty"}:
            raise HeaderError(f"{name}.sql: header line '{key}' is unknown or stands twice.")
        else:
            single[key] = value
    needed = ("title", "grain") if section == "shared" else ("title", "paper", "grain")
    missing = [key for key in needed if key not in single]
    if missing or not columns:
        raise HeaderError(f"{name}.sql: the header has no {', '.join(missing) or 'column'}.")
    return Analysis(
        name=name,
        section=section,
        title=single["title"],
        paper=single.get("paper", ""),
        grain=single["grain"],
        run=_run_choice(name, single["run"]) if "run" in single else None,
        empty=single.get("empty"),
        notes=tuple(notes),
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
        entry = re.fullmatch(
            r"(title|paper|grain|run|empty|note|param|column)(?::|\s)\s*(.*)", content
        )
        if entry is not None:
            entries.append((entry[1], entry[2].strip()))
        elif entries:
            key, value = entries[-1]
            entries[-1] = (key, f"{value} {content.strip()}".strip())
    return entries, "\n".join(lines[at:]).strip().rstrip(";")


def _run_choice(name: str, text: str) -> RunChoice:
    """Read `unit=word contexts=document,sentence`, the header line `run`."""
    found: dict[str, Any] = {}
    for part in text.split():
        key, equals, value = part.partition("=")
        if not equals or not value or key in found or key not in _RUN_CHOICE:
            raise HeaderError(f"{name}.sql: cannot read '{part}' in the header line 'run'.")
        found[key] = tuple(value.split(",")) if key == "contexts" else value
    return RunChoice(**found)


def _match(pattern: re.Pattern[str], name: str, key: str, value: str) -> tuple[str, ...]:
    found = pattern.fullmatch(value)
    if found is None:
        raise HeaderError(f"{name}.sql: cannot read the header line '{key} {value}'.")
    return tuple(group.strip() for group in found.groups())


def macros(analysis: Analysis, *, temporary: bool = False) -> list[str]:
    """The statements that put an analysis into a bank, or beside it for one connection.

    A macro's parameter hides every column of its name, so the statement gets `p_name`
    and a second macro carries the names and defaults that people type.
    """
    create = "create or replace temporary" if temporary else "create or replace"
    told = filter(None, (analysis.title, analysis.paper, analysis.grain))
    comment = literal(" ".join(f"{each[:1].upper()}{each[1:]}." for each in told))
    schema = "paper." if analysis.is_view and not temporary else ""
    inner_name, outer_name = f"{schema}_{analysis.name}", f"{schema}{analysis.name}"
    inner = ", ".join(f"p_{each.name}" for each in analysis.parameters)
    checked = ", ".join(each.checked for each in analysis.parameters)
    outer = ", ".join(f"{each.name} := {each.default}" for each in analysis.parameters)
    body = reading.with_references(analysis.statement, lambda name: f"p_{name}")
    made = [
        f"{create} macro {inner_name}({inner}) as table\n{body}",
        f"{create} macro {outer_name}({outer}) as table\nfrom {inner_name}({checked})",
    ]
    comments = [
        f"comment on macro table {inner_name} is "
        + literal(f"The statement of {analysis.name}, with every parameter given."),
        f"comment on macro table {outer_name} is {comment}",
    ]
    if analysis.is_view:
        made.append(f"{create} view {outer_name} as\nfrom {outer_name}()")
        comments.append(f"comment on view {outer_name} is {comment}")
        comments.extend(
            f"comment on column {outer_name}.{column.name} is {literal(column.help)}"
            for column in analysis.columns
        )
    return made if temporary else made + comments


@cache
def install(*, temporary: bool = False) -> tuple[str, ...]:
    """Every statement that puts the analyses into a bank, each after the ones that it reads.

    `temporary` makes them for one connection, before the ones that the file carries.
    """
    known = shared() | analyses()
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise HeaderError(f"The analyses {' and '.join(path)} read each other.")
        if name in order:
            return
        for other in sorted(known[name].reads):
            visit(other, (*path, name))
        order.append(name)

    for name in known:  # those that are shared come first
        visit(name, ())
    start = () if temporary else ("create schema if not exists paper",)
    return start + tuple(
        text for name in order for text in macros(known[name], temporary=temporary)
    )


@cache
def fingerprint() -> str:
    """SHA-256 of what makes the functions, views and analyses of this version, in hexadecimal.

    That is their files, and the code that puts them into a bank; no statement is read for it.
    """
    code = [(_root() / name).read_text(encoding="utf-8") for name in ("__init__.py", "reading.py")]
    texts = [
        f"{each.section}/{each.name}\0{each.text}" for each in (shared() | analyses()).values()
    ]
    return hashlib.sha256("\0".join([*code, *schema(), *texts]).encode()).hexdigest()
